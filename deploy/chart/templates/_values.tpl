{{- /* Each of these puts values into .object, and returns nothing. An absent value changes nothing. */ -}}

{{- define "slipway.deployment" -}}
{{- $values := .values -}}
{{- $name := .object.metadata.name -}}
{{- $pod := .object.spec.template.spec -}}
{{- $container := first $pod.containers -}}
{{- $key := get (dict "slipway-controllers" "controllers" "slipway-cluster-worker" "clusterWorker" "slipway-server" "server") $name -}}
{{- $own := get $values $key -}}
{{- if hasKey $own "replicas" }}{{ $_ := set .object.spec "replicas" $own.replicas }}{{ end -}}
{{- with $own.resources }}{{ $_ := set $container "resources" . }}{{ end -}}
{{- $_ := set $container "image" (include "slipway.image" .root) -}}
{{- with $values.image.pullPolicy }}{{ $_ := set $container "imagePullPolicy" . }}{{ end -}}
{{- with $values.image.pullSecrets -}}
{{- $names := list -}}
{{- range . }}{{ $names = append $names (dict "name" .) }}{{ end -}}
{{- $_ := set $pod "imagePullSecrets" $names -}}
{{- end -}}
{{- range $field := list "priorityClassName" "nodeSelector" "tolerations" -}}
{{- if hasKey $values $field }}{{ $_ := set $pod $field (get $values $field) }}{{ end -}}
{{- end -}}
{{- if and (eq $key "controllers") (or $values.server.names $values.server.certManager) -}}
{{- $certificate := toJson (pick $values.server "names" "certManager") | sha256sum -}}
{{- $_ := set .object.spec.template.metadata.annotations "slipway.dev/certificate" $certificate -}}
{{- end -}}
{{- if eq $key "server" }}{{ include "slipway.server" (dict "pod" $pod "own" $own) }}{{ end -}}
{{- include "slipway.temporal" (dict "template" .object.spec.template "temporal" $values.temporal) -}}
{{- end }}

{{- define "slipway.image" -}}
{{- $default := first (.Files.Get "files/base/kustomization.yaml" | fromYaml).images -}}
{{- $image := .Values.image -}}
{{- $image.repository | default $default.newName -}}
{{- if or $image.tag (not $image.digest) }}:{{ $image.tag | default $default.newTag }}{{ end -}}
{{- with $image.digest }}@{{ . }}{{ end -}}
{{- end }}

{{- define "slipway.server" -}}
{{- $own := .own -}}
{{- range $volume := .pod.volumes -}}
{{- if and (eq $volume.name "tls") $own.certificateSecret }}{{ $_ := set $volume.secret "secretName" $own.certificateSecret }}{{ end -}}
{{- if and (eq $volume.name "client-ca") $own.clientAuthority }}{{ $_ := set $volume.configMap "name" $own.clientAuthority }}{{ end -}}
{{- end -}}
{{- $container := first .pod.containers -}}
{{- with $own.allowedNetworks -}}
{{- $variable := dict "name" "SLIPWAY_ALLOW_NETWORK" "value" (join "," .) -}}
{{- $_ := set $container "env" (append $container.env $variable) -}}
{{- end -}}
{{- with $own.codecOrigin -}}
{{- $variable := dict "name" "SLIPWAY_CODEC_ORIGIN" "value" . -}}
{{- $_ := set $container "env" (append $container.env $variable) -}}
{{- end -}}
{{- end }}

{{- define "slipway.service" -}}
{{- $spec := .object.spec -}}
{{- $service := .values.server.service -}}
{{- with $service.type }}{{ $_ := set $spec "type" . }}{{ end -}}
{{- with $service.annotations }}{{ $_ := set $.object.metadata "annotations" . }}{{ end -}}
{{- range $port := $spec.ports -}}
{{- with get $service (printf "%sNodePort" $port.name) }}{{ $_ := set $port "nodePort" (int .) }}{{ end -}}
{{- if eq $spec.type "ClusterIP" }}{{ $_ := unset $port "nodePort" }}{{ end -}}
{{- end -}}
{{- if eq $spec.type "ClusterIP" }}{{ $_ := unset $spec "externalTrafficPolicy" }}{{ end -}}
{{- end }}

{{- define "slipway.settings" -}}
{{- $data := .object.data -}}
{{- $temporal := .values.temporal -}}
{{- with .values.server.names }}{{ $_ := set $data "SLIPWAY_SERVER_NAMES" (join "," .) }}{{ end -}}
{{- if .values.server.certManager.issuer }}{{ $_ := set $data "SLIPWAY_ISSUE_CERTIFICATES" "false" }}{{ end -}}
{{- with $temporal.address }}{{ $_ := set $data "TEMPORAL_ADDRESS" . }}{{ end -}}
{{- with $temporal.namespace }}{{ $_ := set $data "TEMPORAL_NAMESPACE" . }}{{ end -}}
{{- with $temporal.tls.serverName }}{{ $_ := set $data "TEMPORAL_TLS_SERVER_NAME" . }}{{ end -}}
{{- if or $temporal.tls.authoritySecret $temporal.tls.clientSecret $temporal.apiKeySecret -}}
{{- /* In place of what the controllers issue. */ -}}
{{- range $name := list "SLIPWAY_TEMPORAL_CERTIFICATES" "TEMPORAL_TLS_CA" "TEMPORAL_TLS_CERT" "TEMPORAL_TLS_KEY" }}{{ $_ := unset $data $name }}{{ end -}}
{{- end -}}
{{- if hasKey $temporal.tls "enabled" }}{{ $_ := set $data "TEMPORAL_TLS" (toString $temporal.tls.enabled) }}{{ end -}}
{{- if $temporal.tls.authoritySecret }}{{ $_ := set $data "TEMPORAL_TLS_CA" "/etc/slipway/temporal-authority/ca.crt" }}{{ end -}}
{{- if $temporal.tls.clientSecret -}}
{{- $_ := set $data "TEMPORAL_TLS_CERT" "/etc/slipway/temporal-client/tls.crt" -}}
{{- $_ := set $data "TEMPORAL_TLS_KEY" "/etc/slipway/temporal-client/tls.key" -}}
{{- end -}}
{{- if hasKey $temporal "encoded" }}{{ if not $temporal.encoded }}{{ $_ := set $data "SLIPWAY_PAYLOAD_KEYS" "" }}{{ end }}{{ end -}}
{{- if $temporal.apiKeySecret }}{{ $_ := set $data "TEMPORAL_API_KEY_FILE" "/etc/slipway/temporal-api-key/api-key" }}{{ end -}}
{{- end }}

{{- /* Mounts what slipway.settings names, and restarts the pods when it changes. */ -}}
{{- define "slipway.temporal" -}}
{{- $pod := .template.spec -}}
{{- $container := first $pod.containers -}}
{{- $tls := .temporal.tls -}}
{{- $secrets := dict "temporal-authority" $tls.authoritySecret "temporal-client" $tls.clientSecret "temporal-api-key" .temporal.apiKeySecret -}}
{{- range $name, $secret := $secrets -}}
{{- if $secret -}}
{{- $volume := dict "name" $name "secret" (dict "secretName" $secret) -}}
{{- $mount := dict "name" $name "mountPath" (printf "/etc/slipway/%s" $name) "readOnly" true -}}
{{- $_ := set $pod "volumes" (append ($pod.volumes | default list) $volume) -}}
{{- $_ := set $container "volumeMounts" (append ($container.volumeMounts | default list) $mount) -}}
{{- end -}}
{{- end -}}
{{- if ne (toJson .temporal) `{"tls":{}}` -}}
{{- $_ := set .template.metadata.annotations "slipway.dev/temporal" (toJson .temporal | sha256sum) -}}
{{- end -}}
{{- end }}

{{- define "slipway.networkPolicy" -}}
{{- $port := regexFind ":[0-9]+$" (.values.temporal.address | default "") | trimPrefix ":" -}}
{{- range $rule := .object.spec.egress -}}
{{- range $allowed := $rule.ports -}}
{{- /* A node port leads to 7233 of a pod, and some networks judge only that. */ -}}
{{- if and $port (eq (int $allowed.port) 7233) (ne (int $port) 7233) -}}
{{ $_ := set $rule "ports" (append $rule.ports (dict "protocol" "TCP" "port" (int $port))) }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .values.networkPolicy.extraEgress }}{{ $_ := set $.object.spec "egress" (concat $.object.spec.egress .) }}{{ end -}}
{{- end }}

{{- /* In place of the certificate that the controllers would issue. */ -}}
{{- define "slipway.certificate" -}}
{{- $names := .names | default list -}}
{{- if not $names }}{{ fail "server.certManager needs server.names, for which the certificate is issued" }}{{ end -}}
{{- $dns := list "slipway-server.slipway" "slipway-server.slipway.svc" -}}
{{- $addresses := list -}}
{{- range $names -}}
{{- if regexMatch "^[0-9.]+$|:" . }}{{ $addresses = append $addresses . }}{{ else }}{{ $dns = append $dns . }}{{ end -}}
{{- end -}}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: slipway-server
  namespace: slipway
  labels:
    app.kubernetes.io/part-of: slipway
spec:
  secretName: slipway-server-tls
  dnsNames: {{ toJson $dns }}
  {{- with $addresses }}
  ipAddresses: {{ toJson . }}
  {{- end }}
  usages: [server auth]
  privateKey:
    rotationPolicy: Always
  issuerRef:
    group: cert-manager.io
    kind: {{ .certManager.kind | default "Issuer" }}
    name: {{ .certManager.issuer }}
{{- end }}

{{- /* As deploy/monitoring/kustomization.yaml makes it. */ -}}
{{- define "slipway.dashboard" -}}
apiVersion: v1
kind: ConfigMap
metadata:
  name: slipway-dashboard
  namespace: slipway
  labels:
    app.kubernetes.io/part-of: slipway
    grafana_dashboard: "1"
data:
  slipway.json: {{ .Files.Get "files/monitoring/dashboard.json" | toJson }}
{{- end }}
