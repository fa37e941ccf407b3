/**
 * Who tries a config: the canary first, and no more nodes once as many have failed as the policy says. For the
 * observer, which shares no decision with the product.
 */

import type { Node } from '../../core/node/types';
import type { VirtualClock } from './clock';
import { DECIDING_MS, type Outages } from './outages';
import type { Cluster } from './world/cluster';

const MCO = 'machineconfiguration.openshift.io';
const CURRENT = `${MCO}/currentConfig`;
const DESIRED = `${MCO}/desiredConfig`;
const STATE = `${MCO}/state`;
const OURS = 'slipway.dev/cordoned-by';
const HELD = 'slipway.dev/held-for';

/** What the judgements look at, and who hears of a broken one. */
interface Told {
  readonly clock: VirtualClock;
  readonly cluster: Cluster;
  readonly outages: Outages;
  readonly isUpdating: (node: string) => boolean;
  readonly onBreak: (invariant: 'canary' | 'threshold', what: string) => void;
}

export class Tries {
  private readonly clock: VirtualClock;
  private readonly cluster: Cluster;
  private readonly outages: Outages;
  private readonly isUpdating: Told['isUpdating'];
  private readonly onBreak: Told['onBreak'];
  /** Who has a grant, by node: for which config. */
  private readonly trying = new Map<string, string>();
  /** The same, until an update has said how it ended: one that is lost leaves it to the next one. */
  private readonly leftTrying = new Map<string, string>();
  /** Deleted nodes: what they have proved stays proven. */
  private readonly gone: Node[] = [];
  private readonly retried = new Map<string, number>();
  /** Nodes that a person told to try again, and whether that try has begun; until it ends they have not failed. */
  private readonly unanswered = new Map<string, boolean>();
  private readonly failures = new Map<
    string,
    { readonly config: string; readonly since: number }
  >();
  private readonly policyChangedAt = new Map<string, number>();

  constructor({ clock, cluster, outages, isUpdating, onBreak }: Told) {
    this.clock = clock;
    this.cluster = cluster;
    this.outages = outages;
    this.isUpdating = isUpdating;
    this.onBreak = onBreak;
  }

  updateStarted(node: string): void {
    this.trying.delete(node);
    if (this.unanswered.has(node)) this.unanswered.set(node, true);
  }

  /** It tries nothing any more. */
  over(node: string): void {
    this.trying.delete(node);
    this.leftTrying.delete(node);
  }

  /** Its update has said how it ended: one that began before a person told to try the node is no answer. */
  ended(node: string): void {
    this.over(node);
    if (this.unanswered.get(node) === true) this.unanswered.delete(node);
  }

  nodeGone(name: string, node: Node | undefined): void {
    if (node !== undefined) this.gone.push(node);
    this.failures.delete(name);
    this.unanswered.delete(name);
    this.over(name);
  }

  /** A person says: try it again, although it failed. */
  toldToRetry(node: string): void {
    this.retried.set(node, this.clock.now);
    this.unanswered.set(node, false);
  }

  /** Whether a person ever said so. */
  isTold(node: string): boolean {
    return this.retried.has(node);
  }

  policyChanged(pool: string): void {
    this.policyChangedAt.set(pool, this.clock.now);
  }

  /** @param isLeft - what an update has left half done and out of service, which is finished however many failed */
  begin(node: string, pool: string, config: string, isLeft: boolean): void {
    if (!isLeft) this.judgeThreshold(node, pool, config);
    // It was one of the first when it began to try this config, whatever the limit became since.
    const isHalf = isHalfDone(this.cluster.nodes.get(node));
    const goesOn = isHalf && this.leftTrying.get(node) === config;
    this.trying.set(node, config);
    this.leftTrying.set(node, config);
    if (!goesOn) this.judgeCanary(node, pool, config);
  }

  noteFailure(name: string, node: Node): void {
    const told = node.metadata.annotations ?? {};
    const config = told[DESIRED] ?? '';
    const isFailed = told[STATE] === 'Degraded' || told[STATE] === 'Unreconcilable';
    // A node that a person holds is out of the question, whatever became of it.
    if (!isFailed || told[HELD] === config) this.failures.delete(name);
    else if (this.failures.get(name)?.config !== config) {
      this.failures.set(name, { config, since: this.clock.now });
    }
  }

  /** The first nodes that try a config are as few as the policy says, until they are verified. */
  private judgeCanary(name: string, pool: string, config: string): void {
    if (this.isPolicyNew(pool)) return;
    const wanted = this.cluster.policy(pool).canary?.nodes ?? 1;
    const verified = new Set(
      [...this.cluster.nodes.values(), ...this.gone]
        .filter((node) => isDoneOn(node, config))
        .map(({ metadata }) => metadata.name),
    );
    const lost = [...this.leftTrying].filter(([node]) => !this.trying.has(node));
    const trying = [...this.trying, ...lost].filter(
      ([node, other]) =>
        other === config &&
        !verified.has(node) &&
        this.triesStill(node) &&
        // One that was moved away tries it for nobody.
        this.outages.isMemberSince(node, pool, this.clock.now),
    ).length;
    // What has left the pool proves its config still, and its rollout need not know of it.
    const here = [...verified].filter((node) =>
      this.outages.isMemberSince(node, pool, this.clock.now),
    ).length;
    const proven = verified.size;
    if (proven >= wanted || trying <= wanted - here) return;
    this.onBreak(
      'canary',
      `${name} tries ${config}, with ${trying} at once and ${proven} verified`,
    );
  }

  /** One whose update is lost does so as long as its node is half done. */
  private triesStill(node: string): boolean {
    const isAtWork = this.trying.has(node) && this.isUpdating(node);
    return isAtWork || isHalfDone(this.cluster.nodes.get(node));
  }

  /** So many failed that no other node may try the config, unless a person says so. */
  private judgeThreshold(name: string, pool: string, config: string): void {
    if (this.isPolicyNew(pool)) return;
    const told = (this.retried.get(name) ?? -Infinity) >= this.clock.now - 3_600_000;
    if (told) return;
    const decidedAt = this.clock.now - DECIDING_MS;
    const failed = [...this.failures].filter(
      ([node, failure]) =>
        node !== name &&
        failure.config === config &&
        failure.since <= decidedAt &&
        this.outages.isMemberSince(node, pool, decidedAt) &&
        !this.isUpdating(node) &&
        !this.unanswered.has(node),
    );
    const { failureThreshold: setting = 2 } = this.cluster.policy(pool);
    const nodes = this.outages.members(pool).length;
    const asked =
      typeof setting === 'string' ? Math.floor((parseInt(setting, 10) * nodes) / 100) : setting;
    const limit = Math.max(1, asked);
    if (failed.length < limit) return;
    const names = failed.map(([node]) => node).join(', ');
    this.onBreak('threshold', `${name} tries ${config} although ${names} failed (limit ${limit})`);
  }

  private isPolicyNew(pool: string): boolean {
    return this.clock.now - (this.policyChangedAt.get(pool) ?? -Infinity) < DECIDING_MS;
  }
}

/** An update has begun on it, and no word says how that ended. */
export function isHalfDone(node: Node | undefined): boolean {
  if (node === undefined) return false;
  const state = node.metadata.annotations?.[STATE];
  return state === 'Working' || (isOurs(node) && state === 'Done');
}

export function isOurs(node: Node): boolean {
  return node.spec?.unschedulable === true && node.metadata.annotations?.[OURS] !== undefined;
}

function isDoneOn({ metadata: { annotations: told = {} } }: Node, config: string): boolean {
  return told[CURRENT] === config && told[DESIRED] === config && told[STATE] === 'Done';
}
