/**
 * Whether a pool still has room for one more node out of service, at the moment of the cordon.
 *
 * A slot is given for what the rollout saw. Between that and the cordon the API server or every cluster
 * worker may have been away, and other nodes may have gone down or the limit been lowered: so it is
 * counted once more. A node that an update of ours left unavailable takes no more room; one that is down
 * by itself may be back in a moment, and does.
 *
 * Cordons are written side by side, so a node counts from the moment in which its own cordon was found to
 * fit, before anybody can see it: it is noted in the same turn, and forgotten when the write is over and
 * the picture shows it. Only this process knows of it. Two cluster workers that cordon at the very same
 * moment may both find room for their node; what keeps them apart then is the count of the rollout alone.
 */

import { fail, failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { slotCount } from '../../core/pool/capacity';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import { fewNames, isLeftUnavailable, takesSlot } from '../../core/rollout';
import type { NodeStep } from '../../workflows/activity-contracts';
import type { ClusterPorts } from '../ports';
import { inParallel } from './in-parallel';

/** Nodes are read at most so many at once; only when the pool seems to be full. */
const PARALLEL_READS = 10;

type Ports = Pick<ClusterPorts, 'view' | 'nodes'>;
type Place = Pick<NodeStep, 'node' | 'pool'>;

/** What the API server said of a node; it counts until the picture shows something newer. */
interface Answer {
  readonly version: number;
  readonly isDown: boolean;
}
type Answers = ReadonlyMap<string, Answer>;

/**
 * Called on the Node that is about to be written, each time that it is decided on.
 *
 * @throws `SlotNeeded` naming the pool and the nodes that are out of service
 */
export type TakeRoom = (known: Node) => void;

/** The room of all pools, as one process has it. */
export class RoomInPools {
  readonly #beingCordoned = new Set<Place>();

  constructor(private readonly ports: Ports) {}

  /**
   * Writes a cordon with room for it. The picture may be behind and show a node that is back by now, so
   * before this refuses it asks.
   *
   * @throws `SlotNeeded` naming the pool and the nodes that are out of service; what `write` throws
   */
  async whileThereIs<T>(
    { node, pool }: NodeStep,
    write: (takeRoom: TakeRoom) => Promise<T>,
  ): Promise<T> {
    const place: Place = { node, pool };
    const answers = await this.#askIfFull(place);
    let noted: Node | undefined;
    const takeRoom = (known: Node): void => {
      if (known === noted) return;
      this.#beingCordoned.delete(place);
      if (!isLeftUnavailable(known)) this.#refuseIfFull(place, answers);
      this.#beingCordoned.add(place);
      noted = known;
    };
    try {
      return await write(takeRoom);
    } finally {
      this.#beingCordoned.delete(place);
    }
  }

  async #askIfFull(place: Place): Promise<Answers> {
    const self = this.ports.view.nodes.get(place.node);
    if (self === undefined || isLeftUnavailable(self)) return new Map();
    const { limit, out } = this.#count(place);
    if (out.length < limit) return new Map();
    const answers = await readAll(this.ports, out);
    this.#refuseIfFull(place, answers);
    return answers;
  }

  #refuseIfFull(place: Place, answers: Answers): void {
    const { limit, out } = this.#count(place, answers);
    if (out.length < limit) return;
    throw fail('SlotNeeded', noRoom(place.pool, limit, out), { node: place.node });
  }

  /** How many nodes of the pool may be out of service, and which others are or will be in a moment. */
  #count(
    { node, pool }: Place,
    answers: Answers = new Map(),
  ): { readonly limit: number; readonly out: readonly string[] } {
    const { view } = this.ports;
    const known = view.pools.get(pool);
    if (known === undefined) return { limit: Infinity, out: [] };
    const all = view.nodes.list();
    const limit = limitOf(known, all, view.pools.list());
    const down = all.filter(
      (one) => one.metadata.name !== node && isDown(one, answers.get(one.metadata.name)),
    );
    const cordoned = [...this.#beingCordoned].filter(
      (one) => one.pool === pool && one.node !== node,
    );
    // Most of the time this is the whole look: there are fewer in all pools together.
    const isCertain = down.length + cordoned.length < limit;
    const ofPool = isCertain ? [] : membersOf(down, known, view.pools.list());
    const names = ofPool.map(({ metadata: { name } }) => name);
    return { limit, out: [...new Set([...names, ...cordoned.map((one) => one.node)])] };
  }
}

function isDown(shown: Node, answer: Answer | undefined): boolean {
  return answer === undefined || versionOf(shown) > answer.version
    ? takesSlot(shown)
    : answer.isDown;
}

/** Versions are numbers that grow, which the API conventions promise since Kubernetes 1.35. */
function versionOf({ metadata: { resourceVersion } }: Node): number {
  return Number(resourceVersion ?? 0);
}

function membersOf(
  nodes: readonly Node[],
  pool: MachineConfigPool,
  pools: readonly MachineConfigPool[],
): readonly Node[] {
  return assignNodes(nodes, pools).members.get(pool.metadata.name) ?? [];
}

/** Only a percentage asks how many nodes the pool has. A limit that nobody can mean lets none go. */
function limitOf(
  pool: MachineConfigPool,
  nodes: readonly Node[],
  pools: readonly MachineConfigPool[],
): number {
  const isShare = typeof pool.spec.maxUnavailable === 'string';
  const count = isShare ? membersOf(nodes, pool, pools).length : nodes.length;
  try {
    return slotCount(pool, count);
  } catch (error) {
    if (failureName(error) === 'InvalidPool') return 0;
    throw error;
  }
}

async function readAll({ view, nodes }: Ports, names: readonly string[]): Promise<Answers> {
  const answers = new Map<string, Answer>();
  await inParallel(names, PARALLEL_READS, async (name) => {
    const shown = view.nodes.get(name);
    // Whose cordon is only being written is down whatever the server says.
    if (shown === undefined || !takesSlot(shown)) return;
    try {
      const node = await nodes.read(name);
      answers.set(name, { version: versionOf(node), isDown: takesSlot(node) });
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      // Gone: it is out of no pool's service any more.
      answers.set(name, { version: versionOf(shown), isDown: false });
    }
  });
  return answers;
}

function noRoom(pool: string, limit: number, out: readonly string[]): string {
  return (
    `pool ${pool} has no room any more: maxUnavailable is ${limit}, ` +
    `and out of service are ${fewNames(out)}`
  );
}
