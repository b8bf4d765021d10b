{{/* An image: repository, and its tag or the chart's application version. */}}
{{- define "cilium.image" -}}
{{ .image.repository }}:{{ .image.tag | default (printf "v%s" .root.Chart.AppVersion) }}
{{- end -}}
