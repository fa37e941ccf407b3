/**
 * Checks at each cordon that the pool has a free slot, because the rollout granted the slot on an
 * older view. A node that an update left unavailable needs no further slot, unless it serves half
 * done while an update works on it and slots are not numbered. A node that is unavailable for
 * another reason needs one, because it may recover.
 *
 * Cluster workers cordon in parallel and do not see each other's pending writes. So a slot has a
 * number and names the nodes counted in it (`core/rollout/slots.ts`). Within one process, a node
 * counts from its accepted cordon until the cache shows it.
 *
 * A control-plane node also needs a free slot in the control plane of all pools.
 */

import { fail, failureName } from '../../core/errors';
import { fewNames } from '../../core/few';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import { assignNodes } from '../../core/pool/membership';
import type { MachineConfigPool } from '../../core/pool/types';
import {
  controlPlaneOf,
  isControlPlane,
  isLeftUnavailable,
  isTakenOut,
  quorumLimit,
  quorumSentence,
  servesHalfDone,
  slotsOfPool,
  takesSlot,
} from '../../core/rollout';
import type { CordonNodeInput } from '../../workflows/contracts/cluster';
import type { ClusterPorts } from './ports';
import { inParallel } from '../../core/concurrency-limit';
import { LostRuns } from './lost-runs';
import { SilentPicture } from './silent-picture';

/** Only when the pool seems to be full. */
const PARALLEL_READS = 10;
/** With this many over the limit, the pool is full, and no node is read. */
const TOO_MANY_TO_ASK = 20;

interface Ports {
  readonly view: Pick<ClusterPorts['view'], 'nodes' | 'pools'>;
  readonly nodes: Pick<ClusterPorts['nodes'], 'read' | 'refresh'>;
  readonly updates: Pick<ClusterPorts['updates'], 'isOpen' | 'isRunning'>;
}
type Place = Pick<CordonNodeInput, 'node' | 'pool' | 'slotNumber' | 'slotCounts' | 'slotsPending'>;

/** Counts until the cache is newer. */
interface Answer {
  readonly version: number;
  /** Undefined = the node is deleted. */
  readonly node: Node | undefined;
}
type Answers = ReadonlyMap<string, Answer>;

interface Shortage {
  readonly out: readonly string[];
  /** By how many nodes the limit would be exceeded with this one. */
  readonly tooMany: number;
  readonly said: string;
}

interface Count {
  readonly limit: number;
  /** Other nodes that are out of service, or about to be. */
  readonly out: readonly string[];
  /** Other nodes for which earlier slots are granted. */
  readonly pending: readonly string[];
  /** Nodes of `out` that are not counted in the number of the slot. */
  readonly beside: readonly string[];
  /** By how many nodes the limit would be exceeded; 0 or less = a slot is free. */
  readonly tooMany: number;
}

/**
 * Called with the Node for each decision to write.
 *
 * @throws `SlotNeeded` naming the pool and the nodes that are out of service
 */
export type TakeRoom = (known: Node) => void;

export class RoomInPools {
  readonly #beingCordoned = new Set<Place>();
  readonly #lostRuns: LostRuns;
  readonly #picture: SilentPicture;

  constructor(private readonly ports: Ports) {
    this.#lostRuns = new LostRuns(ports.updates);
    this.#picture = new SilentPicture(ports);
  }

  /**
   * Before a refusal it reads nodes, because the cache may show a recovered node as down; an old
   * cache is refreshed first, because it may hide a failed one.
   *
   * @throws `SlotNeeded` naming the pool and the nodes that are out of service; `ApiUnavailable`;
   *   the errors of `write`
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
    // An old cache may lack this node.
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
      // A node whose cordon is being written counts as down.
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

  /** In its pool, and in the control plane if the node belongs to it. */
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
  readonly all: readonly Node[];
  /** Empty if this node is not in the control plane. */
  readonly plane: readonly Node[];
  readonly down: readonly Node[];
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
  // Usually this check is enough.
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

/** Other control-plane nodes, if some are in other pools or in none. */
function elsewhere(self: Node, pool: string, { nodes, pools }: Ports['view']): readonly Node[] {
  if (!isControlPlane(self)) return [];
  const all = controlPlaneOf(nodes.list());
  const members = assignNodes(all, pools.list()).members.get(pool) ?? [];
  return all.length === members.length
    ? []
    : all.filter(({ metadata }) => metadata.name !== self.metadata.name);
}

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
 * Nodes that failed after the slot was granted. A slot that names no counted nodes counts all that
 * an update left unavailable.
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
 * Needs the pool's members only for a percentage, and for a control-plane node. An invalid limit
 * allows no node.
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

/** Refused: the node may belong to another pool by now, whose limit counts. */
function unknownPool({ node, pool }: Place): Error {
  const why = 'it was deleted, or the watch of pools is behind';
  return fail('ApiUnavailable', `machineconfigpool ${pool} is not known here: ${why}`, { node });
}

function noRoom({ pool, slotNumber }: Place, { limit, out, pending, beside }: Count): string {
  const room = (what: string, ...others: readonly (readonly [string, readonly string[]])[]) =>
    `pool ${pool} has no free slot${what}: maxUnavailable is ${limit}` +
    others
      .filter(([, names]) => names.length > 0)
      .map(([are, names]) => `, and ${are} ${fewNames(names)}`)
      .join('');
  return out.length + pending.length >= limit
    ? room('', ['out of service are', out], ['about to leave service are', pending])
    : room(` ${slotNumber ?? 0}`, ['unavailable for another reason are', beside]);
}
