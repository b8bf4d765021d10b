{{/* Shortened, because the operator appends to it. */}}
{{- define "stack.fullname" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 26 | trimSuffix "-" -}}
{{- end -}}

{{/* A Deployment with one container: name, image, port, root. */}}
{{- define "stack.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {app: {{ .name }}, release: {{ .root.Release.Name }}}
spec:
  replicas: 1
  selector:
    matchLabels: {app: {{ .name }}, release: {{ .root.Release.Name }}}
  template:
    metadata:
      labels: {app: {{ .name }}, release: {{ .root.Release.Name }}}
    spec:
      containers:
        - name: {{ .container }}
          image: {{ .image }}
          ports: [{name: http, containerPort: {{ .port }}}]
          readinessProbe:
            httpGet: {path: {{ .path }}, port: http}
{{- end -}}
