/**
 * Shows which hosts have another bundle than the wanted one: also those that are off. A moment after
 * a change, because most hosts have it by then and have said so.
 */

import type { Log } from '../../adapters/kube/transport';
import { messageOf } from '../../core/errors';
import { bundlePool } from '../access';
import type { ClusterView } from '../ports';
import type { BundleRecorder } from './recorder';
import type { BundleSource } from './source';

export interface OlderPorts {
  readonly cluster: Pick<ClusterView, 'node' | 'nodes' | 'pools' | 'missing'>;
  readonly bundles: Pick<BundleSource, 'bundleOf'>;
  readonly recorder: Pick<BundleRecorder, 'recordOlder'>;
  readonly log: Pick<Log, 'warn'>;
}

export interface OlderBundles {
  /** There is another bundle. */
  changed(): void;
  stop(): void;
}

/** From the last change to the look at the nodes, ms; up to twice that, because servers are several. */
export const SETTLE_MS = 5_000;
/** Writes at once. */
export const OLDER_AT_ONCE = 4;

export function showOlderBundles(ports: OlderPorts): OlderBundles {
  const { cluster, log } = ports;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  let last: Promise<void> = Promise.resolve();

  function later(): void {
    clearTimeout(timer);
    if (isStopped) return;
    timer = setTimeout(
      () => {
        last = last.then(look);
      },
      SETTLE_MS * (1 + Math.random()),
    );
    timer.unref();
  }

  async function look(): Promise<void> {
    if (cluster.missing().length > 0) return later();
    const names = cluster.nodes().map(({ metadata }) => metadata.name);
    const reasons = new Set<string>();
    const next = async (): Promise<void> => {
      for (let name = names.pop(); name !== undefined && !isStopped; name = names.pop()) {
        const reason = await failureOf(ports, name);
        if (reason !== undefined) reasons.add(reason);
      }
    };
    await Promise.all(Array.from({ length: OLDER_AT_ONCE }, next));
    if (reasons.size === 0) return;
    const [reason] = reasons;
    log.warn({ reason }, 'older bundles of hosts are not shown yet; will try again');
    later();
  }

  return {
    changed: later,
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** Why the write failed; undefined = it did not, or none was due. */
async function failureOf(
  { cluster, bundles, recorder }: OlderPorts,
  name: string,
): Promise<string | undefined> {
  try {
    const node = cluster.node(name);
    const own = node && bundlePool(node, cluster.pools());
    const bundle = own !== undefined && 'pool' in own ? bundles.bundleOf(own.pool) : undefined;
    if (bundle !== undefined) await recorder.recordOlder(name, bundle);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
