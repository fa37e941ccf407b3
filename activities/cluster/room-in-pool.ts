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
 *
 * A control-plane node also needs room among all of them, whichever pools they are in. Slots of other pools have other
 * numbers, so where there are such pools their control-plane nodes are read each time: they are few.
 */

import { fail, failureName } from '../../core/errors';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import {
  controlPlaneOf,
  fewNames,
  isControlPlane,
  isLeftUnavailable,
  isTakenOut,
  quorumLimit,
  quorumSentence,
  servesHalfDone,
  slotsOfPool,
  takesSlot,
} from '../../core/rollout';
import type { CordonNodeInput } from '../../workflows/cluster-contracts';
import type { ClusterPorts } from './ports';
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

/** Where there is no room, and for what. */
interface Shortage {
  /** Which others are out of service, or will be in a moment. */
  readonly out: readonly string[];
  /** By how many nodes it would be over the limit with this one. */
  readonly tooMany: number;
  /** The same as a sentence. */
  readonly said: string;
}

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
    const others = await readAll(this.ports, elsewhere(self, place.pool, this.ports.view));
    const shown = this.#shortages(place, others).flatMap(({ out }) => out);
    await this.#lostRuns.askAbout(shown.flatMap((name) => nodes.get(name) ?? []));
    const wanted = this.#shortages(place, others)
      .filter(({ tooMany }) => tooMany < TOO_MANY_TO_ASK)
      .flatMap(({ out }) => out.filter((name) => !others.has(name)))
      // Whose cordon is only being written is down whatever the server says.
      .flatMap((name) => nodes.get(name) ?? [])
      .filter(takesSlot);
    const answers = new Map([...others, ...(await readAll(this.ports, wanted))]);
    this.#refuseIfFull(place, answers);
    return answers;
  }

  #refuseIfFull(place: Place, answers: Answers): void {
    const [shortage] = this.#shortages(place, answers);
    if (shortage !== undefined) throw fail('SlotNeeded', shortage.said, { node: place.node });
  }

  /** In its pool, and in the control plane if the node is of that. */
  #shortages(place: Place, answers: Answers): readonly Shortage[] {
    const { view } = this.ports;
    const known = view.pools.get(place.pool);
    if (known === undefined) throw unknownPool(place);
    const all = view.nodes.list();
    const down = all.flatMap((shown) => {
      const { name } = shown.metadata;
      const node = name === place.node ? undefined : newest(shown, answers.get(name));
      const isFree = node === undefined || !takesSlot(node) || this.#lostRuns.isLost(node);
      return isFree ? [] : [node];
    });
    const cordoned = [...this.#beingCordoned].filter(({ node }) => node !== place.node);
    const self = view.nodes.get(place.node);
    const plane = self !== undefined && isControlPlane(self) ? controlPlaneOf(all) : [];
    const situation = { all, plane, down, cordoned };
    return [
      ...shortageOfPool(place, known, view.pools.list(), situation),
      ...(plane.length === 0 ? [] : shortageOfControlPlane(situation)),
    ];
  }
}

interface Situation {
  /** All nodes of the cluster. */
  readonly all: readonly Node[];
  /** Those of the control plane; none = this one is not of it. */
  readonly plane: readonly Node[];
  /** Others that the picture shows out of service. */
  readonly down: readonly Node[];
  /** Others whose cordon is being written. */
  readonly cordoned: readonly Place[];
}

function shortageOfPool(
  place: Place,
  known: MachineConfigPool,
  pools: readonly MachineConfigPool[],
  situation: Situation,
): readonly Shortage[] {
  const { down } = situation;
  const limit = limitOf(known, pools, situation);
  const cordoned = situation.cordoned.filter(({ pool }) => pool === place.pool);
  // Most of the time this is the whole look: there are fewer in all pools together.
  if (countOf(place, limit, down, cordoned).tooMany <= 0) return [];
  const count = countOf(place, limit, membersOf(down, known, pools), cordoned);
  return count.tooMany <= 0 ? [] : [{ ...count, said: noRoom(place, count) }];
}

function shortageOfControlPlane({ plane, down, cordoned }: Situation): readonly Shortage[] {
  const members = new Set(plane.map(nameOf));
  const written = cordoned.map(({ node }) => node).filter((name) => members.has(name));
  const out = [...new Set([...controlPlaneOf(down).map(nameOf), ...written])];
  const tooMany = out.length + 1 - quorumLimit(members.size);
  const said = `${quorumSentence(members.size)}, and out of service are ${fewNames(out)}`;
  return tooMany <= 0 ? [] : [{ out, tooMany, said }];
}

/** The other nodes of the control plane, if some of them are in other pools, or in none. */
function elsewhere(self: Node, pool: string, { nodes, pools }: Ports['view']): readonly Node[] {
  if (!isControlPlane(self)) return [];
  const all = controlPlaneOf(nodes.list());
  const members = assignNodes(all, pools.list()).members.get(pool) ?? [];
  return all.length === members.length
    ? []
    : all.filter(({ metadata }) => metadata.name !== self.metadata.name);
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
  return down.filter((node) => !isCounted(node) && !servesHalfDone(node)).map(nameOf);
}

function nameOf({ metadata }: Node): string {
  return metadata.name;
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

/**
 * Only a percentage asks how many nodes the pool has, and a node of the control plane whether all others are of it, too.
 * A limit that nobody can mean lets none go.
 */
function limitOf(
  pool: MachineConfigPool,
  pools: readonly MachineConfigPool[],
  { all, plane }: Situation,
): number {
  const isShare = typeof pool.spec.maxUnavailable === 'string';
  const members = isShare || plane.length > 0 ? membersOf(all, pool, pools) : all;
  return slotsOfPool(pool, members, plane.length).maxUnavailable;
}

async function readAll({ nodes }: Ports, wanted: readonly Node[]): Promise<Answers> {
  const answers = new Map<string, Answer>();
  await inParallel(wanted, PARALLEL_READS, async (shown) => {
    const { name } = shown.metadata;
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
