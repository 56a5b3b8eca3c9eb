{{- define "seine.name" -}}
{{- default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "seine.selector" -}}
app.kubernetes.io/name: seine
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "seine.labels" -}}
{{ include "seine.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "seine.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- /* The variable that stands for a key. */ -}}
{{- define "seine.variable" -}}
SEINE__{{ . | upper | replace "." "__" }}
{{- end }}
