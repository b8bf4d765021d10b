{{- define "bad" -}}
{{ .Values.x.y.z }}
{{- end -}}
{{- define "worse" }}
  {{ include "bad" . }}
{{ end -}}
{{- define "rec" }}{{ include "rec" . }}{{ end -}}
{{- define "failing" }}{{ fail "inner" }}{{ end -}}
