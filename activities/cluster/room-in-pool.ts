/**
 * Whether a pool still has room for one more node out of service, at the moment of the cordon.
 *
 * A slot is given for what the rollout saw. Between that and the cordon the API server or every cluster
 * worker may have been away, and other nodes may have gone down or the limit been lowered: so it is
 * counted once more. A node that an update of ours left unavailable takes no more room; one that is down
 * by itself may be back in a moment, and does. So does one that serves half done, while an update works on it,
 * unless the slots are numbered: then the number says whether that update has one.
 *
 * Cordons are written side by side, by several cluster workers, and none of them sees what the others are
 * about to write. So a slot has a number and says who is counted in it: the rule is in `core/rollout/slots.ts`. That
 * keeps slots of one rollout apart. Those of which nobody said the number are kept apart within one process: a node
 * counts from the moment in which its own cordon was found to fit, until the picture shows it.
 */

import { fail, failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import { slotsOrNone } from '../../core/pool/capacity';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import {
  fewNames,
  isLeftUnavailable,
  isTakenOut,
  servesHalfDone,
  takesSlot,
} from '../../core/rollout';
import type { CordonNodeInput } from '../../workflows/cluster-contracts';
import type { ClusterPorts } from '../ports';
import { inParallel } from './in-parallel';
import { LostRuns } from './lost-runs';
import { SilentPicture } from './silent-picture';

/** Nodes are read at most so many at once; only when the pool seems to be full. */
const PARALLEL_READS = 10;
/** So many too many are not all back: then nobody is asked. */
const TOO_MANY_TO_ASK = 20;

interface Ports {
  readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'>;
  readonly nodes: Pick<ClusterPorts['nodes'], 'read' | 'refresh'>;
  readonly updates: Pick<ClusterPorts['updates'], 'isOpen' | 'isRunning'>;
}
type Place = Pick<CordonNodeInput, 'node' | 'pool' | 'slotNumber' | 'slotCounts' | 'slotsPending'>;

/** What the API server said of a node; it counts until the picture shows something newer. */
interface Answer {
  readonly version: number;
  /** Undefined = the node is gone, and out of no pool's service any more. */
  readonly node: Node | undefined;
}
type Answers = ReadonlyMap<string, Answer>;

/** How a pool stands, this node and its own slot apart. */
interface Count {
  /** How many of its nodes may be out of service. */
  readonly limit: number;
  /** Which others are, or will be in a moment. */
  readonly out: readonly string[];
  /** Which others may be out in a moment, by slots that were given before. */
  readonly pending: readonly string[];
  /** Those of `out` that count beside the number of the slot. */
  readonly beside: readonly string[];
  /** By how many nodes it would be over its limit with this one; 0 or less = there is room. */
  readonly tooMany: number;
}

/**
 * Called on the Node that is about to be written, each time that it is decided on.
 *
 * @throws `SlotNeeded` naming the pool and the nodes that are out of service
 */
export type TakeRoom = (known: Node) => void;

/** The room of all pools, as one process has it. */
export class RoomInPools {
  readonly #beingCordoned = new Set<Place>();
  readonly #lostRuns: LostRuns;
  readonly #picture: SilentPicture;

  constructor(private readonly ports: Ports) {
    this.#lostRuns = new LostRuns(ports.updates);
    this.#picture = new SilentPicture(ports);
  }

  /**
   * Writes a cordon with room for it. The picture may be behind and show a node that is back by now, so
   * before this refuses it asks; one that may be old could hide a node that is down, so it is brought up to
   * date before anything is decided on it.
   *
   * @throws `SlotNeeded` naming the pool and the nodes that are out of service; `ApiUnavailable`; what `write`
   *   throws
   */
  async whileThereIs<T>(place: Place, write: (takeRoom: TakeRoom) => Promise<T>): Promise<T> {
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
    // It may not even show this node, or show it as it was.
    await this.#picture.bringUpToDate();
    const self = this.ports.view.nodes.get(place.node);
    if (self === undefined || isLeftUnavailable(self)) return new Map();
    const { nodes } = this.ports.view;
    const shown = this.#count(place);
    if (shown.tooMany > 0) {
      await this.#lostRuns.askAbout(shown.out.flatMap((name) => nodes.get(name) ?? []));
    }
    const seen = this.#count(place);
    const answers: Answers =
      seen.tooMany > 0 && seen.tooMany < TOO_MANY_TO_ASK
        ? await readAll(this.ports, seen.out)
        : new Map<string, Answer>();
    this.#refuseIfFull(place, answers);
    return answers;
  }

  #refuseIfFull(place: Place, answers: Answers): void {
    const count = this.#count(place, answers);
    if (count.tooMany <= 0) return;
    throw fail('SlotNeeded', noRoom(place, count), { node: place.node });
  }

  #count(place: Place, answers: Answers = new Map()): Count {
    const { view } = this.ports;
    const known = view.pools.get(place.pool);
    if (known === undefined) throw unknownPool(place);
    const all = view.nodes.list();
    const limit = limitOf(known, all, view.pools.list());
    const cordoned = [...this.#beingCordoned].filter(
      ({ node, pool }) => pool === place.pool && node !== place.node,
    );
    const down = all.flatMap((shown) => {
      const { name } = shown.metadata;
      const node = name === place.node ? undefined : newest(shown, answers.get(name));
      const isFree = node === undefined || !takesSlot(node) || this.#lostRuns.isLost(node);
      return isFree ? [] : [node];
    });
    // Most of the time this is the whole look: there are fewer in all pools together.
    const ofAll = countOf(place, limit, down, cordoned);
    if (ofAll.tooMany <= 0) return ofAll;
    return countOf(place, limit, membersOf(down, known, view.pools.list()), cordoned);
  }
}

/**
 * @param down - other nodes that the picture shows out of service
 * @param cordoned - others whose cordon is being written
 */
function countOf(
  place: Place,
  limit: number,
  down: readonly Node[],
  cordoned: readonly Place[],
): Count {
  const { slotNumber } = place;
  const shown = down
    .filter((node) => slotNumber === undefined || !servesHalfDone(node))
    .map(({ metadata: { name } }) => name);
  const out = [...new Set([...shown, ...cordoned.map(({ node }) => node)])];
  const pending = (place.slotsPending ?? []).filter((name) => !out.includes(name));
  const beside = besideNumber(place, down);
  const inAll = Math.max(out.length + pending.length + 1, beside.length + (slotNumber ?? 0));
  return { limit, out, pending, beside, tooMany: inAll - limit };
}

/**
 * Nodes that are down by themselves and not counted in the number of the slot: they have gone down since it was given.
 * Where nobody said who is counted, all that an update has left down are.
 */
function besideNumber({ slotCounts }: Place, down: readonly Node[]): readonly string[] {
  const inNumber = new Set(slotCounts);
  const isCounted = (node: Node): boolean =>
    slotCounts === undefined
      ? isLeftUnavailable(node)
      : isTakenOut(node) || inNumber.has(node.metadata.name);
  return down
    .filter((node) => !isCounted(node) && !servesHalfDone(node))
    .map(({ metadata: { name } }) => name);
}

/** What the picture shows, unless the answer is newer. */
function newest(shown: Node, answer: Answer | undefined): Node | undefined {
  return answer === undefined || versionOf(shown) > answer.version ? shown : answer.node;
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
  return slotsOrNone(pool, count).maxUnavailable;
}

async function readAll({ view, nodes }: Ports, names: readonly string[]): Promise<Answers> {
  const answers = new Map<string, Answer>();
  await inParallel(names, PARALLEL_READS, async (name) => {
    const shown = view.nodes.get(name);
    // Whose cordon is only being written is down whatever the server says.
    if (shown === undefined || !takesSlot(shown)) return;
    try {
      const node = await nodes.read(name);
      answers.set(name, { version: versionOf(node), node });
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound') throw error;
      answers.set(name, { version: versionOf(shown), node: undefined });
    }
  });
  return answers;
}

/** It has no room for anybody: its nodes belong to another pool by now, whose limit counts. */
function unknownPool({ node, pool }: Place): Error {
  const why = 'it was deleted, or the watch of pools is behind';
  return fail('ApiUnavailable', `machineconfigpool ${pool} is not known here: ${why}`, { node });
}

function noRoom({ pool, slotNumber }: Place, { limit, out, pending, beside }: Count): string {
  const room = (what: string, ...others: readonly (readonly [string, readonly string[]])[]) =>
    `pool ${pool} has no room ${what}any more: maxUnavailable is ${limit}` +
    others
      .filter(([, names]) => names.length > 0)
      .map(([are, names]) => `, and ${are} ${fewNames(names)}`)
      .join('');
  return out.length + pending.length >= limit
    ? room('', ['out of service are', out], ['on their way out are', pending])
    : room(`for slot ${slotNumber ?? 0} `, ['down by themselves are', beside]);
}
