import { failureName, messageOf } from '../../core/errors';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { controlPlaneOf, isControlPlane, isSameNode, slotsOfPool } from '../../core/rollout';
import type { PoolRollout } from '../../core/rollout/pool-rollout';
import { whyNoRoom } from '../../core/rollout/room';
import type { GrantProgress, TakeOutInput } from '../../workflows/contracts/cluster';
import { orDeleted, refuseAnotherNode } from './known-node';
import { membershipOf, type PoolMembers } from './pool-members';
import type { ActivityRun, ClusterPorts } from './ports';
import { sayPrepared } from './say-prepared';
import { refuseUnwanted } from './unwanted';
import { SilentPicture } from './silent-picture';
import { Wakeups } from './wakeups';

/** A cancellation arrives with the reply to a heartbeat. */
const HEARTBEAT_MS = 5_000;

export type GrantPorts = Pick<ClusterPorts, 'nodes' | 'machineConfigNodes' | 'rollouts' | 'run'> & {
  readonly view: Pick<
    ClusterPorts['view'],
    'nodes' | 'pools' | 'machineConfigNodes' | 'poolRollouts'
  >;
};

/**
 * Says that the update is prepared, and waits until it has its grant and the pool has room at this moment. No time
 * limit: what it waits for is in its heartbeat.
 *
 * @throws `NodeDeleted`, `NodeMoved`, `HeldByUser`, `Retargeted`: the update ends by itself; `ApiUnavailable`
 */
export function createAwaitGrant(ports: GrantPorts): (input: TakeOutInput) => Promise<void> {
  const membersOf = membershipOf(ports);
  const picture = new SilentPicture(ports);
  return async (input) => {
    const run = ports.run();
    const wakeups = new Wakeups(run.signal);
    const { nodes, pools, poolRollouts } = ports.view;
    // Hundreds may wait: of the grants and of the nodes of others, a heartbeat is soon enough.
    const subscriptions = [
      nodes.subscribe(({ object }) => {
        if (object.metadata.name === input.node) wakeups.ring();
      }),
      pools.subscribe(wakeups.ring),
      poolRollouts.subscribe(({ object }) => {
        if (object.metadata.name === input.pool && isGranted(object.status, input)) wakeups.ring();
      }),
    ];
    try {
      await Promise.all([nodes.synced, pools.synced, poolRollouts.synced]);
      for (;;) {
        const blocker = await whatBlocks(ports, input, membersOf, picture);
        if (blocker === undefined) return;
        tell(run, input, blocker);
        await wakeups.wait(HEARTBEAT_MS);
      }
    } finally {
      for (const unsubscribe of subscriptions) unsubscribe();
      wakeups.close();
    }
  };
}

/** Undefined = nothing does. */
async function whatBlocks(
  ports: GrantPorts,
  input: TakeOutInput,
  membersOf: (pool: MachineConfigPool) => PoolMembers,
  picture: SilentPicture,
): Promise<string | undefined> {
  const { view } = ports;
  const node = await nodeOf(ports, input);
  const pool = view.pools.get(input.pool);
  const status = view.poolRollouts.get(input.pool)?.status;
  refuseUnwanted(node, input, view.pools);
  const { grants = [] } = status ?? {};
  if (!isGranted(status, input) || pool === undefined) {
    await sayPrepared(ports, node, input);
    const why = status?.blocker === undefined ? '' : `: ${status.blocker}`;
    return `waiting for a grant of poolrollout ${input.pool}${why}`;
  }
  const silence = await broughtUpToDate(picture);
  if (silence !== undefined) return silence;
  const { members, unreadable } = membersOf(pool);
  if (unreadable !== undefined) return unreadable;
  const all = view.nodes.list();
  const plane = isControlPlane(node) ? controlPlaneOf(all) : undefined;
  return whyNoRoom({
    ...{ node: input.node, run: input.run.id, grants, members },
    maxUnavailable: slotsOfPool(pool, members, controlPlaneOf(all).length).maxUnavailable,
    ...(plane === undefined ? {} : { controlPlane: plane }),
  });
}

function isGranted(
  status: PoolRollout['status'],
  { node: name, run: { id } }: TakeOutInput,
): boolean {
  return status?.grants.some(({ node, run }) => run === id && node === name) === true;
}

/** A Node that the cache lacks is asked for: the cache may be behind. @throws `NodeDeleted` */
async function nodeOf(ports: GrantPorts, input: TakeOutInput): Promise<Node> {
  const known = ports.view.nodes.get(input.node);
  if (known !== undefined && isSameNode(known, input.uid)) return known;
  const node = await orDeleted(input.node, () => ports.nodes.read(input.node));
  refuseAnotherNode(node, input);
  return node;
}

/** The picture of the nodes is at most 15 seconds old. @returns why it is not */
async function broughtUpToDate(picture: SilentPicture): Promise<string | undefined> {
  try {
    await picture.bringUpToDate();
    return undefined;
  } catch (error) {
    if (failureName(error) !== 'ApiUnavailable') throw error;
    return `waiting for the Kubernetes API server: ${messageOf(error)}`;
  }
}

function tell(run: ActivityRun, { node }: TakeOutInput, blocker: string): void {
  run.log.debug('waiting for a grant', { node, blocker });
  run.heartbeat({ blocker } satisfies GrantProgress);
}
