{{- define "noetl.name" -}}
{{- printf "%s-noetl" .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "noetl.image" -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}

{{- define "noetl.environment" -}}
- name: NOETL_HOME
  value: /tmp/noetl
- name: NOETL_RESULTS
  value: {{ .Values.results | quote }}
- name: NOETL_LEASE_S
  value: {{ .Values.leaseSeconds | quote }}
- name: NOETL_BUS
  valueFrom: {secretKeyRef: {name: {{ .Values.existingSecret }}, key: bus, optional: true}}
{{- with .Values.env }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "noetl.security" -}}
runAsNonRoot: true
runAsUser: 10001
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}
