/** For help and docs/cli.md. */
export const DESCRIPTIONS: Readonly<Record<string, string>> = {
  temporalProfile: 'profile of temporal.toml, for what is not given otherwise; default: default',
  temporalConfigFile: 'temporal.toml with the profile; default ~/.config/temporalio/temporal.toml',
  temporalAddress: 'host:port of the frontend of Temporal; default 127.0.0.1:7233',
  temporalNamespace: 'namespace in Temporal; default slipway',
  temporalTls: 'false: without TLS, whatever files are named; true: with TLS, also without any',
  temporalTlsCa: 'PEM file: authority of Temporal',
  temporalTlsCert: 'PEM file: client certificate for Temporal; read again when it changes',
  temporalTlsKey: 'PEM file: key of the client certificate',
  temporalTlsServerName: 'name in the certificate of Temporal',
  temporalApiKey: 'API key for Temporal; prefer the file',
  temporalApiKeyFile: 'file with the API key; read again when it changes',
  kubeconfig: 'kubeconfig; default: the service account of the pod, then ~/.kube/config',
  context: 'context of the kubeconfig',
  logLevel: 'trace, debug, info, warn, error, fatal or silent; default info',
  metricsHost: 'address of /healthz, /readyz and /metrics; default 127.0.0.1',
  metricsPort:
    'port of /healthz, /readyz and /metrics; default 0: any free one, which the log names',
  serverNames:
    'DNS names and addresses by which machines call the server, for its certificate; with commas',
  issueCertificates: 'false: another program keeps the Secret slipway-server-tls; default true',
  temporalCertificates:
    'namespace of a Temporal for which certificates are issued, its own and those of the processes; default: none',
  allowMco: 'start even if the Machine Config Operator runs here; only for a migration',
  templatesDir:
    'directory of the templates that MachineConfigs are generated from; default: those of Slipway',
  maxKubeRequests:
    'concurrent requests to the Kubernetes API; default 32, in the cluster worker 64',
  workflowBundle: 'compiled workflows; default: those beside the program, or bundled at start',
  maxActivities: 'concurrent activities; default 2000',
  maxWorkflowTasks: 'concurrent workflow tasks; default 40',
  maxCachedWorkflows: 'workflows in memory between tasks; default 1500',
  shutdownGraceSeconds: 'time for running activities to end at shutdown; default 20',
  namespace: 'namespace of the Lease; default slipway',
  leaseName: 'name of the Lease; default slipway-controllers',
  identity: 'name of this replica in the election; default: host name, process ID, random',
  leaseSeconds: 'a leader that is silent for this time may be replaced; default 15',
  renewDeadlineSeconds: 'a leader that cannot renew for this time stops; default 10',
  leaseRetrySeconds: 'pause between attempts to get the Lease; default 2',
  keepRendered: 'unused rendered configs that each pool keeps; default 5',
  address: 'address of the endpoints for machines; default 0.0.0.0',
  hostPort: 'port of the host endpoint (mutual TLS); default 22624',
  gatewayPort: 'port of the gateway to Temporal for hosts (mutual TLS); default 22625',
  codecPort: 'port of the codec for the Temporal UI (TLS); default 22626',
  codecOrigin:
    'origin of the Temporal UI, such as https://temporal.example.com: turns its codec on',
  payloadKeys:
    'directory with the keys of payloads, by which all that enters Temporal is encoded; without it, nothing is, and the server has no gateway',
  plainAddress: 'address of /healthz, /readyz and /metrics; default 0.0.0.0',
  plainPort: 'port of /healthz, /readyz and /metrics; default 8080',
  certificateFile:
    'PEM file: certificate of the endpoints for machines; read again when it changes',
  keyFile: 'PEM file: key of the certificate',
  clientAuthorityFile:
    'PEM file: authority of the kubelet client certificates; not with --bootstrap-dir',
  authorityFile:
    'PEM file: authorities by which hosts recognise the server, told to them; may be missing',
  maxConfigBytes: 'memory for rendered configs; default 64 MiB',
  ignitionPort: 'port of first configs (TLS); default 22623',
  bootstrapDir: 'serve first configs from this directory, without a cluster',
  joinMode: 'tokens, or open: everybody gets a first config; default tokens',
  hostWorkerDirectory:
    'directory with the host worker for machines that boot from a stock image; default: that of the build',
  allowNetwork: 'network that machines may join from; repeat, or use commas; default: all',
  bootstrapKubeconfig: 'kubeconfig with which new machines request their certificate',
  bootstrapTokenDirectory:
    'directory with token and ca.crt, from which --bootstrap-kubeconfig is made',
  apiServerUrl: 'https:// address of the API server in --bootstrap-kubeconfig',
  registryAuthority: 'host[:port]=FILE: authority of a registry, for machines; repeatable',
  maxFirstConfigBytes: 'largest first config that is served; default 16 MiB',
  maxConnections: 'concurrent connections of joining machines; default 4096',
  maxConnectionsPerAddress:
    'concurrent connections of joining machines from one address; default 2560',
  maxGatewayConnections: 'concurrent connections to the gateway; default 16384',
};
