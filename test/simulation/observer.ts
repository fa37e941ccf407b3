/**
 * The independent observer: it sees the cluster, the machines and what travels between workflows, and
 * says when something has happened that must never happen. It shares no decision with the product:
 * what counts as unavailable, as ours, as at rest is written down here once more.
 */

import type { Node } from '../../core/node/types';
import type { MachineConfigPool } from '../../core/pool/types';
import type { Grant } from '../../core/rollout/pool-rollout';
import type { VirtualClock } from './clock';
import { Holds } from './holds';
import { OnlyNode } from './only-node';
import { Grants } from './grants';
import { DECIDING_MS, isInService, isWorking, lastRun, Outages } from './outages';
import { wrongAtRest } from './pool-status';
import { isOpenToPods, isReady, saysWhyItIsCordoned } from './shown-by-node';
import { Taints } from './taints';
import { isHalfDone, isOurs, Tries } from './tries';
import type { Cluster, NodeWrite } from './world/cluster';
import type { SimulatedPod } from './world/cluster-ports';
import type { Host, RebootCause } from './world/host';
import { askedAtOf, type SimulatedConfig } from './world/journal';
import { poolOfLabels } from './world/pools';
import { LastRequests } from './last-requests';

const MCO = 'machineconfiguration.openshift.io';
const CURRENT = `${MCO}/currentConfig`;
const DESIRED = `${MCO}/desiredConfig`;
const STATE = `${MCO}/state`;
const REASON = `${MCO}/reason`;
const OURS = 'slipway.dev/cordoned-by';
const HELD = 'slipway.dev/held-for';

/** Nothing may wait silently for longer. */
export const SILENCE_MS = 60_000;
/** As long may it take until it is known that an update has ended without a word, and the next one has begun. */
const LOST_MS = 3 * SILENCE_MS;

export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

export class Invariants {
  readonly violations: Violation[] = [];
  /** Nodes that a person has cordoned and not uncordoned. */
  readonly cordonedByPerson = new Set<string>();
  /** Updates that somebody ended in Temporal: what they left is taken up when that is noticed. */
  private readonly terminated = new Set<string>();
  /** I3, of pools. */
  readonly words = new LastRequests(
    {
      isPaused: (pool) => this.cluster.pool(pool).spec.paused === true,
      node: (name) => this.cluster.nodes.get(name),
    },
    (what) => {
      this.break('I3', what);
    },
  );
  private readonly outages: Outages;
  private readonly reboots = new Map<string, number>();
  private readonly accidents = new Set<string>();
  private readonly tries: Tries;
  private readonly holds: Holds;
  private readonly pausedSince = new Map<string, number>();
  private readonly leftAlone = new Map<string, number>();
  /** Nodes that pods may come to, Ready and not cordoned. */
  private readonly openSince = new Map<string, number>();
  private readonly readySince = new Map<string, number>();
  private readonly taints = new Taints((what) => void this.break('I2', what));
  private readonly onlyNode: OnlyNode;
  private readonly grants: Grants;

  constructor(
    private readonly clock: VirtualClock,
    private readonly cluster: Cluster,
    private readonly hosts: ReadonlyMap<string, Host>,
    private readonly pods: ReadonlyMap<string, readonly SimulatedPod[]>,
    private readonly configs: ReadonlyMap<string, SimulatedConfig>,
    private readonly isUpdating: (node: string) => boolean,
    /** Whether this very run of the update of a node goes on. */
    isWorkedOn: (node: string) => boolean,
    isRolling: (pool: string) => boolean,
    /** Whether Temporal is away for the processes of Slipway. */
    private readonly isTemporalAway: () => boolean,
  ) {
    this.outages = new Outages(clock, cluster, (what) => {
      this.break('I1', what);
    });
    this.onlyNode = new OnlyNode(cluster.nodes);
    this.holds = new Holds(clock);
    this.grants = new Grants({
      ...{ clock, cluster, isWorkedOn, isRolling, outages: this.outages },
      onBreak: (invariant, what) => {
        this.break(invariant, what);
      },
    });
    this.tries = new Tries({
      ...{ clock, cluster, outages: this.outages, isUpdating },
      onBreak: (invariant, what) => {
        this.break(invariant, what);
      },
    });
  }

  break(invariant: string, what: string): void {
    this.violations.push({ invariant, what });
  }

  // -- What happens -----------------------------------------------------------------------------

  updateStarted(node: string): void {
    this.tries.updateStarted(node);
  }

  /** Somebody ends an update in Temporal: it tidies nothing up. */
  updateTerminated(node: string): void {
    this.terminated.add(node);
    this.outages.rests(node);
  }

  /** A person says: try it again, although it failed. */
  toldToRetry(node: string): void {
    this.tries.toldToRetry(node);
    this.holds.toldToRetry(node);
  }

  policyChanged(pool: string): void {
    this.tries.policyChanged(pool);
  }

  /** The rollout of a pool writes down that an update may take its node out of service. */
  granted(pool: string, { node, run, config, serves }: Grant): void {
    this.outages.grant(node, pool, run, serves === true);
    const known = this.cluster.nodes.get(node);
    // Its Node says so already, and only the list has lost it.
    if (known !== undefined && lastRun(known)?.run === run) return;
    // What an update has left half done and out of service is finished, whatever holds up the others.
    const isLeft = isHalfDone(known) && known !== undefined && !isInService(known);
    if (!isLeft) this.judgePause(node, pool);
    this.tries.begin(node, pool, config, isLeft);
  }

  /** A person has written it into the list. */
  grantMadeUp(grant: Grant): void {
    this.grants.writtenByPerson(grant);
  }

  grantEnded(pool: string, grant: Grant, now: readonly Grant[]): void {
    this.outages.grantEnded(grant.node, grant.run);
    this.grants.ended(pool, grant, now);
  }

  wrote({ before, after, by }: NodeWrite): void {
    const name = (after ?? before)?.metadata.name ?? '';
    this.holds.seen(name, after);
    this.onlyNode.look(this.clock.now);
    if (after === undefined) {
      this.tries.nodeGone(name, before);
      this.cordonedByPerson.delete(name);
      this.openSince.delete(name);
      this.readySince.delete(name);
    } else {
      this.noteSince(this.openSince, name, isOpenToPods(after));
      this.noteSince(this.readySince, name, isReady(after));
      this.tries.noteFailure(name, after);
      if (lastRun(after)?.isOver === true && lastRun(before)?.isOver !== true) {
        this.tries.ended(name);
        this.outages.rests(name);
      }
      if (by === 'slipway') this.judgeWrite(name, before, after);
    }
    this.outages.wrote(name, {
      before,
      after,
      byUs: by === 'slipway',
      isTold: this.tries.isTold(name),
    });
  }

  /** A machine goes down. */
  rebooted(host: Host, cause: RebootCause, run: string | undefined): void {
    const node = this.cluster.nodes.get(host.name);
    if (cause === 'accident' || run === undefined) {
      this.accidents.add(host.currentRun ?? '');
      return;
    }
    if (!this.accidents.has(run)) {
      const key = `${run} ${cause}`;
      const times = (this.reboots.get(key) ?? 0) + 1;
      this.reboots.set(key, times);
      if (times > 1) this.break('I5', `${host.name} reboots ${times} times for ${key}`);
    }
    const serves = node !== undefined && isInService(node) && !isWorking(node);
    if (serves && !this.isPutBackSince(host, cause)) {
      this.break('I5', `${host.name} reboots while it is in service (${key(run, cause)})`);
    }
    this.judgePods(host, cause);
    if (cause === 'update') this.judgeHold(host);
  }

  /** An update has ended by itself. */
  updateClosed(name: string, run: string, isCancelled: boolean): void {
    this.terminated.delete(name);
    this.outages.rests(name);
    this.tries.ended(name);
    if (isCancelled && this.reboots.has(`update-node/${name}/${run} update`)) {
      this.break('cancel', `the update of ${name} rebooted and was cancelled all the same`);
    }
    const node = this.cluster.nodes.get(name);
    if (node === undefined) return;
    if (isOurs(node) && !saysWhyItIsCordoned(node)) {
      this.break('I2', `the update of ${name} has ended and left its cordon behind`);
    }
  }

  poolChanged(): void {
    this.outages.noteLimits();
  }

  // -- After every event ------------------------------------------------------------------------

  /** A node without an update carries nothing of ours, except what says why. */
  lookAround(): void {
    this.notePauses();
    this.taints.look(this.cluster, this.clock.now);
    const isAway = this.cluster.isAway || this.isTemporalAway();
    this.grants.look(isAway);
    for (const [name, node] of this.cluster.nodes) {
      const isLeft = isOurs(node) && !this.isUpdating(name) && !saysWhyItIsCordoned(node);
      const wasTerminated = this.terminated.has(name);
      if (!isLeft || isAway) {
        this.leftAlone.delete(name);
        continue;
      }
      const since = this.leftAlone.get(name) ?? this.clock.now;
      this.leftAlone.set(name, since);
      const patience = wasTerminated ? LOST_MS : SILENCE_MS;
      if (this.clock.now - since > patience) {
        this.leftAlone.set(name, Infinity);
        const minutes = patience / 60_000;
        this.break(
          'I2',
          `${name} carries a cordon of ours, and nothing has worked on it for ${minutes} min`,
        );
      }
    }
  }

  /**
   * All is done: everybody must say the same.
   *
   * @param targets - by pool
   * @param status - of a pool, as the product computes it
   */
  atRest(
    targets: ReadonlyMap<string, string>,
    status: (pool: MachineConfigPool) => NonNullable<MachineConfigPool['status']>,
  ): void {
    const { pools, nodes, machineConfigNodes } = this.cluster;
    for (const pool of pools.values()) {
      const wrong = wrongAtRest(pool, status(pool), [...nodes.values()], machineConfigNodes);
      for (const what of wrong) this.break('I7', `pool ${pool.metadata.name}: ${what}`);
    }
    for (const what of this.grants.wrongAtRest()) this.break('I6', what);
    for (const [name, node] of nodes) {
      const target = targets.get(poolOfLabels(node)) ?? '';
      const told = node.metadata.annotations ?? {};
      const host = this.hosts.get(name);
      const says = { current: told[CURRENT], desired: told[DESIRED], state: told[STATE] };
      const isRight = says.current === target && says.desired === target && says.state === 'Done';
      if (!isRight)
        this.break('I7', `${name} rests with ${JSON.stringify(says)}, not on ${target}`);
      if (isOurs(node) || told[OURS] !== undefined) this.break('I2', `${name} rests with our mark`);
      if (host === undefined) continue;
      // What is only staged is locked, and dropped by whoever comes next.
      const { current, files, os, journal } = host;
      const disk = { current, files, os, journal: journal?.target.name };
      const isClean =
        current === target &&
        files === target &&
        os === this.configs.get(target)?.os &&
        journal === undefined;
      if (!isClean) this.break('I4', `host ${name} rests with ${JSON.stringify(disk)}`);
      this.judgeMachineConfigNode(name, target);
    }
  }

  private judgeMachineConfigNode(name: string, target: string): void {
    const shown = this.cluster.machineConfigNodes.get(name);
    // A node that came with its config was never told anything.
    if (shown === undefined) return;
    const conditions = Object.fromEntries(
      (shown.status?.conditions ?? []).map(({ type, status }) => [type, status]),
    );
    const { desired } = shown.spec.configVersion;
    const current = shown.status?.configVersion?.current;
    if (desired === target && current === target && conditions['Updated'] === 'True') return;
    const says = JSON.stringify({ desired, current, conditions });
    this.break('I7', `machineconfignode ${name} rests with ${says}, not on ${target}`);
  }

  // -- Judgements -------------------------------------------------------------------------------

  private judgeWrite(name: string, before: Node | undefined, after: Node): void {
    const wasCordoned = before?.spec?.unschedulable === true;
    const isCordoned = after.spec?.unschedulable === true;
    if (wasCordoned && !isCordoned && this.cordonedByPerson.has(name)) {
      this.break('I3', `the cordon of a person on ${name} was removed`);
    }
    const told = after.metadata.annotations ?? {};
    if (this.cordonedByPerson.has(name) && told[OURS] !== undefined) {
      this.break('I3', `the cordon of a person on ${name} was made ours`);
    }
    if (told[STATE] === 'Done' && before?.metadata.annotations?.[STATE] !== 'Done') {
      this.judgeDone(name, told[CURRENT] ?? '');
    }
    if (told[STATE] === 'Degraded' && (told[REASON] ?? '') === '') {
      this.break('I6', `${name} is called Degraded, and nothing says why`);
    }
    const isTaken =
      told[STATE] === 'Working' && before?.metadata.annotations?.[STATE] !== 'Working';
    if (isTaken && told[HELD] !== undefined && told[HELD] === told[DESIRED]) {
      this.break('I3', `${name} is taken for ${told[HELD]}, for which a person holds it`);
    }
    const wasOurs = before !== undefined && isOurs(before);
    if (wasOurs && !isCordoned) this.judgeGivenBack(name, told);
  }

  /** Put back into service, however its update ended: the machine must not be between two configs. */
  private judgeGivenBack(name: string, told: Readonly<Record<string, string>>): void {
    const host = this.hosts.get(name);
    if (host === undefined || told[STATE] === 'Done') return;
    // A Node that was registered again does not say it, until its host does.
    const current = told[CURRENT] ?? host.current;
    const { files, os } = host;
    if (files === current && os === this.configs.get(current)?.os) return;
    this.break('I4', `${name} goes back into service on ${current} with files of ${files}, ${os}`);
  }

  /** Said to be done: the machine must be there, proven. */
  private judgeDone(name: string, config: string): void {
    const host = this.hosts.get(name);
    if (host === undefined) return;
    if (this.configs.get(config)?.neverReady === true) {
      this.break('I7', `${name} is called done on ${config}, on which it never was Ready`);
    }
    const { journal, files, os } = host;
    const isProven = journal === undefined || journal.verified;
    const isThere = files === config && os === this.configs.get(config)?.os;
    if (isThere && isProven) return;
    const is = `files of ${files}, ${os}, ${isProven ? 'proven' : 'not proven'}`;
    this.break('I4', `${name} is called done on ${config}, but the machine has ${is}`);
  }

  /** Whoever has no grant when the pool is paused gets none. */
  private judgePause(name: string, pool: string): void {
    const pausedMs = this.clock.now - (this.pausedSince.get(pool) ?? Infinity);
    if (pausedMs <= DECIDING_MS || this.words.isBeingResumed(pool)) return;
    this.break(
      'pause',
      `${name} gets a grant, and pool ${pool} is paused for ${pausedMs / 1000} s`,
    );
  }

  private notePauses(): void {
    for (const [name, { spec }] of this.cluster.pools) {
      this.noteSince(this.pausedSince, name, spec.paused === true);
    }
  }

  /**
   * Pods come to a node that somebody has uncordoned, and some that were on their way before its cordon; a reboot
   * that was asked for later ends them unasked.
   */
  private judgePods({ name, journal }: Host, cause: RebootCause): void {
    const askedAt = askedAtOf(journal, cause);
    if (askedAt === undefined) return;
    const decidedAt = askedAt - DECIDING_MS;
    if (this.onlyNode.wasAfter(name, decidedAt)) return;
    const reboots = `${name} reboots (${cause})`;
    const seconds = (since: number): string => `for ${(askedAt - since) / 1000} s before that`;
    const openSince = this.openSince.get(name) ?? Infinity;
    if (openSince <= decidedAt) {
      this.break('I3', `${reboots}, and pods could come ${seconds(openSince)}`);
    }
    // The pods of a machine that has fallen over are never gone, and its way back does not wait for them.
    const hasFallenOver = cause === 'back' && (this.readySince.get(name) ?? Infinity) > decidedAt;
    const pod = this.pods.get(name)?.find(({ boundAt }) => boundAt <= decidedAt);
    if (pod === undefined || hasFallenOver) return;
    this.break('I3', `${reboots}, and ${pod.name} was there ${seconds(pod.boundAt)}`);
  }

  /** Somebody has put the node back into service in the moment between the order to reboot and the reboot. */
  private isPutBackSince({ name, journal }: Host, cause: RebootCause): boolean {
    const askedAt = askedAtOf(journal, cause);
    const openSince = this.openSince.get(name) ?? Infinity;
    return askedAt !== undefined && openSince > askedAt - DECIDING_MS;
  }

  private judgeHold({ name, journal }: Host): void {
    if (journal?.armAskedAt === undefined) return;
    const config = journal.target.name;
    const seconds = this.holds.before(name, config, journal.armAskedAt);
    if (seconds === undefined) return;
    this.break(
      'I3',
      `${name} reboots into ${config}, for which a person held it ${seconds} s before`,
    );
  }

  private noteSince(since: Map<string, number>, name: string, isSo: boolean): void {
    if (!isSo) since.delete(name);
    else if (!since.has(name)) since.set(name, this.clock.now);
  }
}

function key(run: string, cause: RebootCause): string {
  return `${cause} of ${run}`;
}
