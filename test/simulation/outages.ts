/**
 * I1, counted from outside: which nodes of which pool are out of service, since when and by whom, and
 * how many of them there may be. The rules are written down here once more.
 */

import type { Node } from '../../core/node/types';
import type { VirtualClock } from './clock';
import { LONGEST_LAG_MS, type Cluster } from './world/cluster';
import { saysWhyItIsCordoned } from './shown-by-node';
import { poolOfLabels } from './world/pools';

const STATE = 'machineconfiguration.openshift.io/state';
const CURRENT = 'machineconfiguration.openshift.io/currentConfig';
const DESIRED = 'machineconfiguration.openshift.io/desiredConfig';
const CORDONED_BY = 'slipway.dev/cordoned-by';
const UPDATE_RUN = 'slipway.dev/update-run';

/** A picture is this old at most when it is decided on, and what was decided is written so much later. */
const OLDEST_MS = 15_000;
/** From the moment somebody looked to the moment what was decided counts. */
export const DECIDING_MS = OLDEST_MS + LONGEST_LAG_MS + 2_000;

/** The permission of an update to take its node out of service, as its pool has written it down. */
interface Granted {
  readonly pool: string;
  readonly run: string;
  /** Its update takes nothing out of service. */
  readonly serves: boolean;
  /** When it was taken out of the list; Infinity = it is in it. */
  readonly until: number;
}

interface Outage {
  readonly since: number;
  readonly byUs: boolean;
}

interface Write {
  readonly before: Node | undefined;
  readonly after: Node | undefined;
  readonly byUs: boolean;
  /** A person has said to try the node. */
  readonly isTold: boolean;
}

interface Limit {
  readonly at: number;
  readonly limit: number;
}

export class Outages {
  private readonly outages = new Map<string, Outage>();
  private readonly granted = new Map<string, Granted>();
  /** Whose update has a grant that counts: what it has begun to change may go down at any moment. */
  private readonly atWork = new Set<string>();
  private readonly moved = new Map<string, number>();
  private readonly limits = new Map<string, readonly Limit[]>();

  constructor(
    private readonly clock: VirtualClock,
    private readonly cluster: Cluster,
    private readonly breaks: (what: string) => void,
  ) {}

  grant(node: string, pool: string, run: string, serves: boolean): void {
    if (!serves) this.atWork.add(node);
    this.granted.set(node, { pool, run, serves, until: Infinity });
  }

  grantEnded(node: string, run: string): void {
    const known = this.granted.get(node);
    if (known?.run === run) this.granted.set(node, { ...known, until: this.clock.now });
  }

  /** Nobody works on the node any more: if it serves, it is in service, whatever it says of itself. */
  rests(name: string): void {
    this.atWork.delete(name);
    const node = this.cluster.nodes.get(name);
    if (node !== undefined && isInService(node)) this.outages.delete(name);
  }

  wrote(name: string, { before, after, byUs, isTold }: Write): void {
    if (after === undefined) {
      this.outages.delete(name);
      this.moved.delete(name);
    } else if (before !== undefined && poolOfLabels(before) !== poolOfLabels(after)) {
      this.moved.set(name, this.clock.now);
    }
    if (before === undefined || after === undefined || this.moved.get(name) === this.clock.now) {
      this.noteLimits();
    }
    if (after === undefined) return;
    const isTaken = byUs && isNewlyTaken(before, after, isTold);
    if (isTaken) this.judgeGrant(name, after);
    this.count(name, after, isTaken, byUs);
  }

  /** Whether the node was in the pool then, and is. */
  isMemberSince(name: string, pool: string, instant: number): boolean {
    const node = this.cluster.nodes.get(name);
    if (node === undefined || poolOfLabels(node) !== pool) return false;
    return (this.moved.get(name) ?? -Infinity) <= instant;
  }

  isMovedSince(name: string, instant: number): boolean {
    return (this.moved.get(name) ?? -Infinity) > instant;
  }

  /** Whether the node was out of service then, and is. */
  isOutSince(name: string, instant: number): boolean {
    const node = this.cluster.nodes.get(name);
    const since = this.outages.get(name)?.since ?? Infinity;
    return node !== undefined && !isInService(node) && since <= instant;
  }

  members(pool: string): readonly string[] {
    return [...this.cluster.nodes]
      .filter(([, node]) => poolOfLabels(node) === pool)
      .map(([name]) => name);
  }

  noteLimits(): void {
    for (const pool of this.cluster.pools.keys()) this.noteLimit(pool);
  }

  /** A node that is down by itself may be back in a moment: who takes it then, takes it out of service. */
  private count(name: string, node: Node, isTaken: boolean, byUs: boolean): void {
    if (isInService(node) && !(isWorking(node) && this.atWork.has(name))) {
      this.outages.delete(name);
      return;
    }
    const known = this.outages.get(name);
    if (known !== undefined && !isTaken) return;
    // A machine that could not be taken back is kept from pods, whatever its update was to take out of service.
    const isLost = saysWhyItIsCordoned(node) && this.granted.get(name)?.serves === true;
    const isTakenOut = byUs && !isLost;
    this.outages.set(name, { since: known?.since ?? this.clock.now, byUs: isTakenOut });
    if (isTakenOut) this.judge(name, poolOfLabels(node));
  }

  /** Whoever begins with a node has a grant for that, of the pool that the node is in. */
  private judgeGrant(name: string, node: Node): void {
    const run = runOf(node);
    const pool = poolOfLabels(node);
    const grant = this.granted.get(name);
    const isGranted = grant?.run === run && (grant?.until ?? 0) > this.clock.now - DECIDING_MS;
    if (grant === undefined || !isGranted) {
      this.breaks(`${name} is taken by ${run}, which has no grant for it`);
    } else if (grant.pool !== pool) {
      this.breaks(`${name} of pool ${pool} is taken by a grant of pool ${grant.pool}`);
    }
  }

  /**
   * A node that we took out of service must have been within the limit of the pool that it is in. What went down by
   * itself or came to the pool a moment before the cordon could not be known, and neither could a limit that was
   * lowered just then; when the grant was given is no excuse.
   */
  private judge(name: string, pool: string): void {
    const decidedAt = this.clock.now - DECIDING_MS;
    const countable = [...this.outages].filter(
      ([node, { byUs, since }]) =>
        node === name ||
        ((byUs || since <= decidedAt) && this.isMemberSince(node, pool, decidedAt)),
    );
    const limit = this.limitSince(pool, decidedAt);
    if (countable.length <= limit) return;
    const names = countable.map(([node]) => node).join(', ');
    this.breaks(
      `${countable.length} of at most ${limit} nodes of ${pool} are out of service: ${names}`,
    );
  }

  private limitSince(pool: string, instant: number): number {
    this.noteLimit(pool);
    const limits = this.limits.get(pool) ?? [];
    const later = limits.findIndex(({ at }) => at >= instant);
    const from = later < 0 ? limits.length - 1 : Math.max(0, later - 1);
    return Math.max(...limits.slice(from).map(({ limit }) => limit));
  }

  private noteLimit(pool: string): void {
    const { maxUnavailable } = this.cluster.pool(pool).spec;
    const limit = limitOf(maxUnavailable, this.members(pool).length);
    const known = this.limits.get(pool) ?? [];
    if (known.at(-1)?.limit === limit) return;
    this.limits.set(pool, [...known.slice(-50), { at: this.clock.now, limit }]);
  }
}

/** A number, or a percentage of all nodes rounded down; never none, never more than there are. */
export function limitOf(setting: number | string | undefined, nodes: number): number {
  const asked =
    typeof setting === 'string'
      ? Math.floor((Number(setting.replace('%', '')) / 100) * nodes + 1e-9)
      : (setting ?? 1);
  return Math.max(1, Math.min(asked, nodes));
}

/**
 * Until then no update had written the node, or the last one had said how it ended well. One that is down and
 * never said what it is on a person may have looked at as it is: that takes nothing out of service.
 */
function isNewlyTaken(before: Node | undefined, after: Node, isTold: boolean): boolean {
  if (isTold && before !== undefined && !isInService(before) && isUnknown(before)) return false;
  const wasLeft =
    before?.metadata.annotations?.[CORDONED_BY] !== undefined ||
    !['', 'Done'].includes(stateOf(before));
  return !wasLeft && stateOf(after) === 'Working';
}

function isUnknown({ metadata: { annotations: told = {} } }: Node): boolean {
  return told[CURRENT] === undefined && told[DESIRED] === undefined;
}

/** The run of an update that has written the node last. */
export function runOf({ metadata: { annotations = {} } }: Node): string | undefined {
  return markOf(annotations[UPDATE_RUN])?.run;
}

/** The run that is named last, and whether it has said that it is over. */
export function lastRun(node: Node | undefined) {
  return markOf(node?.metadata.annotations?.[UPDATE_RUN]);
}

function markOf(mark = '') {
  const [, startedAt = '', run, over] = mark.split('/');
  return run === undefined ? undefined : { run, startedAt, isOver: over !== undefined };
}

function stateOf(node: Node | undefined): string {
  return node?.metadata.annotations?.[STATE] ?? '';
}

/** Pods run on it and come to it, whatever an update has said of it. */
export function isInService(node: Node): boolean {
  const isReady = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return isReady && node.spec?.unschedulable !== true;
}

/** An update has begun on it. */
export function isWorking(node: Node): boolean {
  return stateOf(node) === 'Working';
}
