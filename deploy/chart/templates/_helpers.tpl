{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
{{- end -}}

{{- define "holdfast.labels" -}}
{{ include "holdfast.selector" . }}
app.kubernetes.io/part-of: holdfast
{{- end -}}

{{- /* A quantity of so many MiB. */ -}}
{{- define "holdfast.mebibytes" -}}
{{ if eq (mod . 1024) 0 }}{{ div . 1024 }}Gi{{ else }}{{ . }}Mi{{ end }}
{{- end -}}

{{- /* Names as a list in JSON: sorted, each once. */ -}}
{{- define "holdfast.names" -}}
{{ sortAlpha . | uniq | toJson }}
{{- end -}}

{{- /* The objects of files/objects.json, with names filled in. */ -}}
{{- define "holdfast.objects" -}}
{{- $trusted := list -}}
{{- range include "holdfast.names" .Values.trustedSourceNamespaces | fromJsonArray -}}
  {{- $trusted = append $trusted (squote .) -}}
{{- end -}}
{{ .Files.Get "files/objects.json"
  | replace "@namespace@" .Release.Namespace
  | replace "@account@" (default "holdfast-source" .Values.defaultServiceAccount)
  | replace "'@trusted@'" (join ", " $trusted) }}
{{- end -}}

{{- /* Rules from `rights`; `values` choose. Those with the same group, verbs and names become one rule. */ -}}
{{- define "holdfast.rules" -}}
{{- $values := .values -}}
{{- $byKey := dict -}}
{{- $rules := list -}}
{{- range .rights -}}
  {{- $isUsed := or (not .providers) (not $values.providers) -}}
  {{- range .providers -}}
    {{- if has . $values.providers }}{{ $isUsed = true }}{{ end -}}
  {{- end -}}
  {{- if $isUsed -}}
    {{- $verbs := .verbs -}}
    {{- if and $values.trustedSourceNamespaces .trustedVerbs }}{{ $verbs = concat .verbs .trustedVerbs }}{{ end -}}
    {{- $key := list .group $verbs .names | toJson -}}
    {{- if hasKey $byKey $key -}}
      {{- $rule := get $byKey $key -}}
      {{- $_ := set $rule "resources" (append $rule.resources .resource) -}}
    {{- else -}}
      {{- $rule := dict "apiGroups" (list .group) "resources" (list .resource) "verbs" $verbs -}}
      {{- if .names }}{{ $_ := set $rule "resourceNames" .names }}{{ end -}}
      {{- $_ := set $byKey $key $rule -}}
      {{- $rules = append $rules $rule -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{ toYaml $rules }}
{{- end -}}
