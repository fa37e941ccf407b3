/** Machines that come to the cluster in the middle of everything. */

import { ANNOTATION, NodeState } from '../../../core/names';
import type { Node } from '../../../core/node/types';
import type { Chance } from '../clock';
import type { Host } from './host';
import type { SimulatedConfig } from './journal';
import { poolOfLabels } from './pools';
import type { World } from './world';

/** Until the host says what it is on, and until the kubelet is Ready, at most. */
const ADOPTED_MS = 30_000;
const READY_MS = 90_000;

/**
 * A new machine: its kubelet registers it before its host says what it is on, and it is Ready later.
 * It comes with the config of its pool, or with the one before; nobody installs one that does not run.
 */
export function joinMachine(world: World, pool: string, chance: Chance): void {
  const { clock, cluster } = world;
  const configs = world.configsOf(pool);
  const first = configs[0];
  if (first === undefined) throw new Error(`pool ${pool} has no config`);
  const target = cluster.pool(pool).spec.configuration?.name;
  const wanted = configs.find(({ name }) => name === target);
  const config = wanted !== undefined && runs(wanted) && chance.is(0.6) ? wanted : first;
  const whole = world.machine(pool, config, false);
  const { annotations = {}, ...metadata } = whole.metadata;
  const status = { ...whole.status, conditions: [{ type: 'Ready', status: 'False' }] };
  const { name } = metadata;
  cluster.joined.add(name);
  cluster.addNode({ ...whole, metadata, status });
  clock.after(chance.between(500, ADOPTED_MS), () => {
    const node = cluster.nodes.get(name);
    if (node === undefined || node.metadata.annotations?.[ANNOTATION.CURRENT_CONFIG]) return;
    cluster.changeNode(name, { annotations }, 'kubelet');
  });
  clock.after(chance.between(500, READY_MS), () => {
    const host = world.hosts.get(name);
    if (host?.isUp === true) host.report(true);
  });
}

/**
 * A kubelet registers its Node again: it has the labels that the kubelet gives it, and no word of what its machine is on.
 * What is on the config of its pool is adopted on it; the others wait for an update.
 */
export function registerNode(world: World, host: Host, { metadata: earlier }: Node): void {
  const { clock, cluster } = world;
  const { name, labels = {}, uid = name } = earlier;
  const metadata = {
    ...{ name, labels, uid: `${uid}-again`, annotations: {} },
    creationTimestamp: new Date(clock.now).toISOString(),
  };
  const conditions = [{ type: 'Ready', status: 'False' }];
  cluster.joined.add(name);
  cluster.addNode({
    metadata,
    spec: {},
    status: { conditions, nodeInfo: { bootID: host.bootId } },
  });
  clock.after(ADOPTED_MS, () => {
    const node = cluster.nodes.get(name);
    const { current, files, journal } = host;
    if (node?.metadata.uid !== metadata.uid || journal !== undefined || files !== current) return;
    if (node.metadata.annotations?.[ANNOTATION.DESIRED_CONFIG] !== undefined) return;
    const pool = cluster.pool(poolOfLabels(node));
    if (pool.spec.configuration?.name !== current) return;
    const adopted = {
      [ANNOTATION.CURRENT_CONFIG]: current,
      [ANNOTATION.DESIRED_CONFIG]: current,
      [ANNOTATION.STATE]: NodeState.DONE,
    };
    cluster.changeNode(name, { annotations: adopted }, 'kubelet');
  });
  clock.after(1_000, () => {
    if (host.isUp) host.report(!host.isCut);
  });
}

function runs(config: SimulatedConfig): boolean {
  const { doesNotBoot, cutsNetwork, cutsWhenWritten, cutsOnceVerified } = config;
  const { unreconcilable, neverReady } = config;
  const isCut = cutsNetwork || cutsWhenWritten === true || cutsOnceVerified === true;
  return !doesNotBoot && !isCut && !unreconcilable && !neverReady;
}
