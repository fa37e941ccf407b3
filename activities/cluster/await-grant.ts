import { failureName, messageOf } from '../../core/errors';
import { fewNames } from '../../core/few';
import { isInService } from '../../core/node/availability';
import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import { controlPlaneOf, isControlPlane, isSameNode, slotsOfPool } from '../../core/rollout';
import type { Grant, PoolRollout } from '../../core/rollout/pool-rollout';
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

export type GrantPorts = Pick<
  ClusterPorts,
  'nodes' | 'machineConfigNodes' | 'poolRollouts' | 'rollouts' | 'run' | 'now'
> & {
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
  const { members, unreadable } = membersOf(pool);
  if (unreadable !== undefined) return unreadable;
  return orAway(async () => {
    await picture.bringUpToDate();
    const plane = controlPlaneOf(view.nodes.list());
    const room = {
      ...{ node: input.node, run: input.run.id, grants, members },
      maxUnavailable: slotsOfPool(pool, members, plane.length).maxUnavailable,
    };
    if (!isControlPlane(node)) return whyNoRoom(room);
    const others = view.pools
      .list()
      .filter(({ metadata }) => metadata.name !== input.pool)
      .filter((other) => membersOf(other).members.some(isControlPlane))
      .map(({ metadata }) => metadata.name);
    const why = whyUnsettled(others, grants, input, ports.now());
    if (why !== undefined && isInService(node)) return why;
    const elsewhere = await grantsOf(ports, others);
    return whyNoRoom({ ...room, controlPlane: plane, elsewhere });
  });
}

/** Longer than a step takes from its decision to its write: then no earlier grant can still come. */
const SETTLED_MS = 10_000;

/** Two pools may give a grant to a control-plane node at the same moment. Then the earlier one goes first. */
function whyUnsettled(
  others: readonly string[],
  grants: readonly Grant[],
  { run: { id } }: TakeOutInput,
  now: number,
): string | undefined {
  const grantedAt = grants.find(({ run }) => run === id)?.grantedAt ?? '';
  if (others.length === 0 || now - Date.parse(grantedAt) >= SETTLED_MS) return undefined;
  return `waiting for earlier grants to control-plane nodes in ${fewNames(others)}`;
}

/** Read at the API server, because a cache may be behind. @throws `ApiUnavailable` */
async function grantsOf(
  { poolRollouts }: GrantPorts,
  pools: readonly string[],
): Promise<readonly Grant[]> {
  const read = await Promise.all(pools.map((pool) => poolRollouts.read(pool)));
  return read.flatMap((rollout) => rollout?.status?.grants ?? []);
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

/** An API server that is away is a blocker, too. */
async function orAway(look: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (failureName(error) !== 'ApiUnavailable') throw error;
    return `waiting for the Kubernetes API server: ${messageOf(error)}`;
  }
}

function tell(run: ActivityRun, { node }: TakeOutInput, blocker: string): void {
  run.log.debug('waiting for a grant', { node, blocker });
  run.heartbeat({ blocker } satisfies GrantProgress);
}
