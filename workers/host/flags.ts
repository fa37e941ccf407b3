/** Every setting of the host worker as a flag and an environment variable. */

import { LOG_LEVELS } from '../../process/logging';

/** One setting as a flag and an environment variable. */
export interface HostWorkerFlag {
  readonly setting: string;
  readonly variable: string;
  readonly description: string;
  /** May be given several times. */
  readonly repeated?: boolean;
}

const flag = (setting: string, description: string, variable?: string): HostWorkerFlag => ({
  setting,
  variable:
    variable ?? `SLIPWAY_${setting.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`,
  description,
});

/** Every setting of the host worker. */
export const HOST_WORKER_FLAGS: readonly HostWorkerFlag[] = [
  flag('temporalAddress', 'host:port of Temporal', 'TEMPORAL_ADDRESS'),
  flag('temporalNamespace', 'Temporal namespace', 'TEMPORAL_NAMESPACE'),
  flag('temporalTlsCa', 'PEM file: authority of Temporal', 'TEMPORAL_TLS_CA'),
  flag('temporalTlsCert', 'PEM file: client certificate for Temporal', 'TEMPORAL_TLS_CERT'),
  flag('temporalTlsKey', 'PEM file: its key', 'TEMPORAL_TLS_KEY'),
  flag('temporalTlsServerName', 'name in the certificate of Temporal', 'TEMPORAL_TLS_SERVER_NAME'),
  flag(
    'temporalApiKey',
    'API key for Temporal; better in a file: others may see this one',
    'TEMPORAL_API_KEY',
  ),
  flag(
    'temporalApiKeyFile',
    'file that holds the API key; read again when it changes',
    'TEMPORAL_API_KEY_FILE',
  ),
  flag('serverUrl', 'https URL of the host endpoint of the server'),
  flag('logLevel', LOG_LEVELS.join(', ')),
  flag('metricsHost', 'where /healthz, /readyz and /metrics are served'),
  flag('metricsPort', 'their port; absent = they are not served, 0 = any free one'),
  flag('authorityFile', 'PEM file: authority of the host endpoint (that of the cluster, found)'),
  // One machine
  flag('node', 'name of the Node object of this machine (its hostname)'),
  flag('root', 'directory that is the / of this machine'),
  flag('configFile', 'settings as "name: value" lines (/etc/slipway/host.yaml, if it is there)'),
  flag(
    'driver',
    'OS driver: auto, rpm-ostree, bootc, ostree, or none: files, units, keys only (auto)',
  ),
  flag('kubeletUnit', 'unit that the kubelet runs in (found)'),
  flag('certificateFile', 'PEM file: client certificate of the kubelet (found)'),
  flag('keyFile', 'PEM file: its key (found, or in the file of the certificate that is set)'),
  flag(
    'reconnectSeconds',
    'without Temporal for this long after the boot of an update, the machine goes back by itself (600)',
  ),
  flag('startJitterSeconds', 'the first connection waits for a random part of this (5)'),
  flag(
    'kubeletHealthUrl',
    'health of the kubelet (http://127.0.0.1:10248/healthz); none = not asked',
  ),
  flag('kubeletHealthSeconds', 'how long the kubelet may take to be healthy after a reboot (300)'),
  flag(
    'commandLineFile',
    'command line of the running kernel (/proc/cmdline); none = not compared',
  ),
  flag('inhibitorSeconds', 'how long programs that block a shutdown are honoured (300)'),
  flag(
    'shutdownSeconds',
    'a machine that is not down this long after its reboot is reported (900)',
  ),
  // Simulated machines
  flag('simulate', 'how many machines to simulate in this process'),
  flag('nodes', 'which machines to simulate: names with commas'),
  flag('nodePrefix', 'with --simulate: names are this and a number from 1 (worker-)'),
  flag('baseDirectory', 'where the roots of simulated machines go'),
  flag('credentialsDirectory', 'has <node>/tls.crt and <node>/tls.key of each simulated node'),
  flag('apiServer', 'https URL of the API server, for the simulated kubelets'),
  flag('apiServerAuthorityFile', 'PEM file: authority of the API server, if it is another one'),
  flag('firstBoot', 'rendered config that simulated machines without one boot with'),
  flag('stageSeconds', 'how long staging an OS image takes'),
  flag('applySeconds', 'how long applying takes'),
  flag('serviceSeconds', 'how long reloads and restarts of services take'),
  flag('rebootSeconds', 'how long a reboot takes'),
  flag('jitter', 'by which part these vary (0.2 = up to 20 %)'),
  flag('seed', 'equal seeds give equal runs'),
  { ...flag('fail', 'node=NAME,at=prepare|apply|verify|boot,times=N'), repeated: true },
];

/** Settings of this machine that need no server. */
const OF_THE_MACHINE = new Set([
  'configFile',
  'node',
  'root',
  'driver',
  'inhibitorSeconds',
  'shutdownSeconds',
  'logLevel',
]);

export const MACHINE_FLAGS: readonly HostWorkerFlag[] = HOST_WORKER_FLAGS.filter(({ setting }) =>
  OF_THE_MACHINE.has(setting),
);
