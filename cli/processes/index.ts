/**
 * The processes of Slipway. Each is loaded only when it is the one that runs: a host worker must not
 * carry the Kubernetes client, and `slipway get` no Temporal worker.
 */

/** One flag of a process; its setting may also come from the environment. */
export interface ProcessFlag {
  /** Name of the setting: `metricsPort` is `--metrics-port`. */
  readonly setting: string;
  readonly variable: string;
  readonly description?: string;
  /** May be given several times. */
  readonly repeated?: boolean;
  /** Takes no value. */
  readonly boolean?: boolean;
}

/** A process, loaded. */
export interface ProcessCommand {
  readonly flags: readonly ProcessFlag[];
  /**
   * Runs until the signal aborts.
   *
   * @throws an error with `name` 'SettingsError' when the settings cannot be used
   */
  run(
    flags: Readonly<Record<string, unknown>>,
    environment: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface ProcessEntry {
  readonly name: string;
  readonly description: string;
  load(): Promise<ProcessCommand>;
}

export const PROCESSES: readonly ProcessEntry[] = [
  {
    name: 'controllers',
    description: 'run the controllers: render, pool status, nodes, start of rollouts',
    load: async () => (await import('./controllers.js')).controllersCommand,
  },
  {
    name: 'cluster-worker',
    description: 'run the workflows and the cluster activities',
    load: async () => (await import('./cluster-worker.js')).clusterWorkerCommand,
  },
  {
    name: 'host-worker',
    description: 'run the host activities of this machine; with --simulate, of many simulated ones',
    load: async () => (await import('./host-worker.js')).hostWorkerCommand,
  },
  {
    name: 'server',
    description: 'run the server that hands rendered configs to hosts',
    load: async () => (await import('./server.js')).serverCommand,
  },
];
