/** The settings of the host worker, as flags and environment variables. */

export interface HostWorkerFlag {
  readonly setting: string;
  readonly variable: string;
  readonly description: string;
  readonly repeated?: boolean;
}

const flag = (setting: string, description: string, variable?: string): HostWorkerFlag => ({
  setting,
  variable:
    variable ?? `SLIPWAY_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
  description,
});

export const HOST_WORKER_FLAGS: readonly HostWorkerFlag[] = [
  flag(
    'temporalProfile',
    'profile of temporal.toml, for what is not given otherwise; default: default',
    'TEMPORAL_PROFILE',
  ),
  flag(
    'temporalConfigFile',
    'temporal.toml with the profile; default ~/.config/temporalio/temporal.toml',
    'TEMPORAL_CONFIG_FILE',
  ),
  flag(
    'temporalAddress',
    'host:port of the frontend of Temporal; default 127.0.0.1:7233',
    'TEMPORAL_ADDRESS',
  ),
  flag(
    'gatewayAddress',
    'host:port of the gateway to Temporal, instead; it takes the certificate of the kubelet',
  ),
  flag('temporalNamespace', 'namespace in Temporal; default slipway', 'TEMPORAL_NAMESPACE'),
  flag('temporalTlsCa', 'PEM file: authority of Temporal', 'TEMPORAL_TLS_CA'),
  flag(
    'temporalTlsCert',
    'PEM file: client certificate for Temporal; read again when it changes',
    'TEMPORAL_TLS_CERT',
  ),
  flag('temporalTlsKey', 'PEM file: key of the client certificate', 'TEMPORAL_TLS_KEY'),
  flag('temporalTlsServerName', 'name in the certificate of Temporal', 'TEMPORAL_TLS_SERVER_NAME'),
  flag('temporalApiKey', 'API key for Temporal; prefer the file', 'TEMPORAL_API_KEY'),
  flag(
    'temporalApiKeyFile',
    'file with the API key; read again when it changes',
    'TEMPORAL_API_KEY_FILE',
  ),
  flag('serverUrl', 'https:// address of the host endpoint of the server'),
  flag('logLevel', 'trace, debug, info, warn, error, fatal or silent; default info'),
  flag('metricsHost', 'address of /healthz, /readyz and /metrics; default 127.0.0.1'),
  flag(
    'metricsPort',
    'port of /healthz, /readyz and /metrics; 0 = any free one; default: they are not served',
  ),
  flag(
    'authorityFile',
    'PEM file: authority of the host endpoint; default: authority of the cluster, which is found',
  ),
  flag(
    'orderKeysFile',
    'JSON file: public keys of the cluster, which sign orders; default /etc/slipway/order-keys.json',
  ),
  // One machine
  flag('node', 'name of the Node of this machine; default: host name'),
  flag('root', 'root directory of this machine; default /'),
  flag('configFile', 'file of "name: value" lines; default /etc/slipway/host.yaml, if it exists'),
  flag(
    'driver',
    'auto, rpm-ostree, bootc, ostree, or none for files, units and keys only; default auto',
  ),
  flag('kubeletUnit', 'systemd unit of the kubelet; default: found'),
  flag('certificateFile', 'PEM file: client certificate of the kubelet; default: found'),
  flag(
    'keyFile',
    'PEM file: key of the client certificate; default: found, or the file of the certificate',
  ),
  flag('startJitterSeconds', 'the first connection waits a random part of this time; default 5'),
  flag(
    'kubeletHealthUrl',
    'health of the kubelet, or none; default http://127.0.0.1:10248/healthz',
  ),
  flag('kubeletHealthSeconds', 'time for the kubelet to be healthy after a reboot; default 300'),
  flag('commandLineFile', 'command line of the running kernel, or none; default /proc/cmdline'),
  flag('inhibitorSeconds', 'time that programs may block a reboot; default 300'),
  flag('shutdownSeconds', 'time to shut down, after which the machine is reported; default 900'),
  // Simulated machines
  flag('simulate', 'number of machines to simulate in this process'),
  flag('nodes', 'names of the machines to simulate, with commas'),
  flag('nodePrefix', 'with --simulate: prefix of the names, before a number; default worker-'),
  flag('baseDirectory', 'directory for the root directories of simulated machines'),
  flag(
    'credentialsDirectory',
    'directory with <node>/tls.crt and <node>/tls.key of each simulated machine',
  ),
  flag('apiServer', 'https:// address of the API server, for the simulated kubelets'),
  flag(
    'apiServerAuthorityFile',
    'PEM file: authority of the API server, if it is not that of --authority-file',
  ),
  flag('firstBoot', 'rendered config with which a new simulated machine boots'),
  flag('stageSeconds', 'time to stage an OS image; default 3'),
  flag('applySeconds', 'time to apply; default 1'),
  flag('serviceSeconds', 'time to reload or restart services; default 0'),
  flag('rebootSeconds', 'time to reboot; default 8'),
  flag('jitter', 'part by which these times vary; default 0.2'),
  flag('seed', 'seed of the variation; default 1'),
  {
    ...flag(
      'fail',
      'node=NAME,at=prepare|apply|verify|boot,times=N: simulate a failure; repeatable',
    ),
    repeated: true,
  },
];

/** Settings that need no server. */
const OF_THE_MACHINE = new Set([
  'configFile',
  'node',
  'root',
  'driver',
  'inhibitorSeconds',
  'shutdownSeconds',
  'logLevel',
  'orderKeysFile',
]);

export const MACHINE_FLAGS: readonly HostWorkerFlag[] = HOST_WORKER_FLAGS.filter(({ setting }) =>
  OF_THE_MACHINE.has(setting),
);

/** @returns a problem for each name that is no setting */
export function unknownSettings(values: object): readonly string[] {
  const known = new Set(HOST_WORKER_FLAGS.map(({ setting }) => setting));
  return Object.keys(values)
    .filter((name) => !known.has(name))
    .map((name) => `${name}: no such setting; see slipway host-worker --help`);
}
