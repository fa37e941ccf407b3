import { type DriftOptions, type DriftPorts, watchDrift } from '../../host/drift/watch';
import {
  createMachineTree,
  createPathProbe,
  createPathWatch,
  createReportClient,
  type ConfigClientOptions,
} from '../../adapters/host';
import type { LastingPorts } from '../../host/ports';
import type { Logger } from '../../process/logging';
import { VERSION } from '../../process/version';

export interface DriftPlace {
  readonly root: string;
  readonly endpoint: ConfigClientOptions;
  /** Absent: kubelet starts are not watched. */
  readonly kubeletUnit?: DriftPorts['kubeletUnit'];
}

/** Never throws. */
export async function watchHostDrift(
  ports: LastingPorts,
  { root, endpoint, kubeletUnit = () => undefined }: DriftPlace,
  options: Omit<DriftOptions, 'log'> & { readonly log: Logger },
): Promise<void> {
  const client = createReportClient(endpoint);
  const { node, files, users, systemd, journal, os, pause } = ports;
  const drift: DriftPorts = {
    node,
    version: VERSION,
    files,
    users,
    systemd,
    journal,
    os,
    ...(pause === undefined ? {} : { pause }),
    now: () => new Date(),
    kubeletUnit,
    probe: createPathProbe(root),
    tree: createMachineTree(root),
    watch: (on) => createPathWatch({ root, ...on }),
    report: (report, signal) => client.report(report, signal),
  };
  try {
    await watchDrift(drift, options);
  } catch (error) {
    options.log.error({ node, err: error }, 'drift is not watched any more');
  }
}
