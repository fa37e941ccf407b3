import { type DriftOptions, type DriftPorts, watchDrift } from '../../host/drift/watch';
import {
  createMachineTree,
  createPathProbe,
  createPathWatch,
  createReportClient,
  learnAuthorities,
  type ConfigClientOptions,
} from '../../adapters/host';
import { messageOf } from '../../core/errors';
import type { OrderKeyring } from '../../host/orders/read-order';
import type { SignedText } from '../../core/orders';
import type { LastingPorts } from '../../host/ports';
import type { Logger } from '../../process/logging';
import { VERSION } from '../../process/version';

export interface DriftPlace {
  readonly root: string;
  readonly endpoint: ConfigClientOptions;
  readonly keyring: OrderKeyring;
  /** Absent: kubelet starts are not watched. */
  readonly kubeletUnit?: DriftPorts['kubeletUnit'];
}

/** Never throws. */
export async function watchHostDrift(
  ports: LastingPorts,
  { root, endpoint, keyring, kubeletUnit = () => undefined }: DriftPlace,
  options: Omit<DriftOptions, 'log'> & { readonly log: Logger },
): Promise<void> {
  const client = createReportClient(endpoint);
  /** A machine that cannot learn goes on with what it trusts. */
  const learn = async (told: string): Promise<void> => {
    try {
      if (!(await learnAuthorities(told, endpoint))) return;
      const file = endpoint.learnedAuthorityFile;
      options.log.info({ node: ports.node, file }, 'authorities of the server learned');
    } catch (error) {
      const fields = { node: ports.node, reason: messageOf(error) };
      options.log.warn(fields, 'authorities of the server not learned');
    }
  };
  const learnKeys = async (told: readonly SignedText[]): Promise<void> => {
    if (told.length === 0) return;
    try {
      const before = (await keyring.known()).serial;
      const { serial, keys } = await keyring.learn(told);
      if (serial === before) return;
      const fields = { node: ports.node, serial, keys: keys.map(({ id }) => id) };
      options.log.info(fields, 'keys of orders learned');
    } catch (error) {
      options.log.warn(
        { node: ports.node, reason: messageOf(error) },
        'keys of orders not learned',
      );
    }
  };
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
    report: async (report, signal) => {
      const { answer, serverAuthority, orderKeys } = await client.report(report, signal);
      if (serverAuthority !== undefined) await learn(serverAuthority);
      await learnKeys(orderKeys);
      return answer;
    },
  };
  try {
    await watchDrift(drift, options);
  } catch (error) {
    options.log.error({ node, err: error }, 'drift is not watched any more');
  }
}
