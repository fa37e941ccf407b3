/** The host activities on simulated machines, with the promises of the real ones. */

import { fail } from '../../../core/errors';
import type { UpdatePlan } from '../../../core/node/plan';
import type { Handed, HostActivities, HostOrder } from '../../../workflows/contracts/host';
import type { Attempt } from '../temporal/attempt';
import type { Host } from './host';
import type { Journal, SimulatedConfig } from './journal';
import { planFor } from './host-plans';
import { backTakesBoot, commit, failedEarlier, undo } from './left-on-host';
import type { ActivityPlants } from './plants';

type HostStep = keyof HostActivities;
type Order = HostOrder & {
  readonly rebootedFrom?: string;
  readonly reconnectSeconds?: number;
  readonly failed?: string;
  readonly commitWithinSeconds?: number;
  readonly onlyAsks?: true;
};

/** What begins or goes on with an update; refused once it was taken back. */
const GOING_ON: readonly HostStep[] = [
  'prepareUpdate',
  'applyUpdate',
  'performServiceActions',
  'armReboot',
];

interface HostWorld {
  config(name: string): SimulatedConfig;
  now(): number;
  readonly plants: ActivityPlants;
  /** A failure of this step that is due now, thrown in the middle of it. */
  strike(step: string, attempt: Attempt): void;
}

/** How long each step takes, seconds: usually, at most. */
const PACE: Readonly<Record<HostStep, readonly [number, number]>> = {
  prepareUpdate: [5, 90],
  applyUpdate: [1, 20],
  performServiceActions: [1, 10],
  armReboot: [0, 2],
  verifyUpdate: [0, 5],
  commitUpdate: [0, 3],
  goBack: [1, 10],
  verifyBack: [0, 3],
  discardStaged: [0, 2],
};

/** Carries out one attempt of a host activity. Errors are those of the catalogue. */
export async function performOnHost(
  world: HostWorld,
  host: Host,
  attempt: Attempt,
): Promise<unknown> {
  const step = attempt.call.type as HostStep;
  const { order } = attempt.call.input as Handed<Order>;
  return host.inTurn(async () => {
    attempt.signal.throwIfAborted();
    checkOrder(world, host, step, order);
    const known = host.answers.get(order.orderId);
    if (known !== undefined && !(step === 'armReboot' && world.plants.forgetsArming)) return known;
    try {
      const answer = await STEPS[step](new Work(world, host, attempt, order));
      host.answers.set(order.orderId, answer ?? null);
      return answer;
    } finally {
      host.watchWord();
    }
  });
}

function checkOrder(world: HostWorld, host: Host, step: HostStep, order: Order): void {
  if (order.node !== host.name) throw fail('OrderRefused', 'the order is for another host');
  if (Date.parse(order.notAfter) < world.now()) throw fail('OrderRefused', 'the order expired');
  const run = runOf(order);
  if (host.pastRuns.has(run)) throw fail('OrderRefused', 'a later update has replaced this one');
  if (run === host.currentRun) {
    if (!GOING_ON.includes(step)) return;
    if (host.isBack) throw fail('OrderRefused', 'it was taken back');
    if (host.failed !== undefined && step !== 'prepareUpdate') throw failedEarlier(host.failed);
    return;
  }
  const isSame = host.currentTarget === order.config.name && order.afterLost === true;
  if (!isSame || world.plants.forgetsFailures === true) host.failed = undefined;
  if (host.currentRun !== undefined) host.pastRuns.add(host.currentRun);
  host.currentRun = run;
  host.currentTarget = order.config.name;
  host.isBack = false;
}

/** One step of one order on one host. */
class Work {
  readonly target: SimulatedConfig;

  constructor(
    readonly world: HostWorld,
    readonly host: Host,
    readonly attempt: Attempt,
    readonly order: Order,
  ) {
    this.target = world.config(order.config.name);
  }

  /** Half of the time that the step takes; what goes wrong goes wrong in between. */
  async half(): Promise<void> {
    const step = this.attempt.call.type as HostStep;
    const [usual, longest] = PACE[step];
    // Later than the same step of another host: no two numbers of a scenario come from one source.
    const ms = (usual + ((this.host.boot * 7 + step.length) % (longest - usual + 1))) * 500;
    await this.attempt.sleep(ms);
  }

  strike(): void {
    this.world.strike(this.attempt.call.type, this.attempt);
  }

  /** @throws `RefusedRequest` when nothing of this update is applied */
  journal(): Journal {
    const { journal } = this.host;
    const isReady =
      journal?.target.name === this.target.name &&
      journal.applied &&
      journal.goingBack === undefined;
    if (journal !== undefined && isReady) return journal;
    throw fail('RefusedRequest', `${this.target.name} is not applied on ${this.host.name}`);
  }

  refuseDrift(): void {
    if (this.host.isEdited) throw fail('ConfigDrift', `${this.host.name} has an edited file`);
  }

  refuseSameBoot(): void {
    if (this.order.rebootedFrom !== this.host.bootId) return;
    throw fail('NotYetRebooted', `${this.host.name} is still in boot ${this.host.boot}`);
  }
}

const STEPS: { readonly [step in HostStep]: (work: Work) => Promise<unknown> } = {
  prepareUpdate: async (work) => {
    const { host, target } = work;
    refuseFailed(work);
    const { settled, underWay } = settle(work);
    const isUnsettled =
      underWay !== undefined && host.journal !== undefined && backTakesBoot(host, host.journal);
    await work.half();
    work.strike();
    if (host.journal === undefined) work.refuseDrift();
    const isThere = host.current === target.name && host.files === target.name;
    const alreadyOnTarget = isThere && host.os === target.os && host.journal === undefined;
    if (!alreadyOnTarget && host.journal === undefined) host.staged = target.name;
    await work.half();
    return {
      bootId: host.bootId,
      currentConfig: host.current,
      alreadyOnTarget,
      plan: underWay ?? planFor(host, target),
      ...(settled === undefined ? {} : { settled }),
      ...(isUnsettled ? { unsettled: true } : {}),
      ...(underWay !== undefined && !isUnsettled ? { tookOver: true } : {}),
    };
  },
  applyUpdate: async (work) => {
    const { host, target } = work;
    const found = host.journal;
    if (found?.target.name === target.name && found.applied && !found.goingBack) return counts();
    if (found !== undefined) {
      if (backTakesBoot(host, found))
        throw fail('EarlierUpdateLost', `left on ${found.target.name}`);
      undo(host, found);
    }
    work.refuseDrift();
    const journal: Journal = {
      target,
      previousFiles: host.files,
      previousOs: host.os,
      reboots: host.os !== target.os,
      begunIn: host.boot,
      run: runOf(work.order),
      reconnectSeconds: work.order.reconnectSeconds ?? 600,
      ...{ applied: false, services: false, verified: false },
    };
    host.journal = journal;
    host.files = 'half';
    await work.half();
    if (target.cutsWhenWritten === true) host.setCut(true);
    return unheardIfCut(work, async () => {
      work.strike();
      await work.half();
      host.files = target.name;
      journal.applied = true;
      return counts();
    });
  },
  performServiceActions: async (work) => {
    await applyAgain(work);
    const journal = work.journal();
    if (journal.services) return;
    await work.half();
    work.strike();
    journal.services = true;
  },
  armReboot: async (work) => {
    const { host, order, world } = work;
    await applyAgain(work);
    const journal = work.journal();
    const { armed } = journal;
    const isOver = armed !== undefined && armed !== host.boot;
    if (isOver && !world.plants.forgetsArming) return { bootId: `${host.name}-boot-${armed}` };
    await work.half();
    work.strike();
    const { bootId } = host;
    journal.armed = host.boot;
    journal.armAskedAt = work.attempt.call.scheduledAt;
    journal.reconnectSeconds = order.reconnectSeconds ?? 600;
    host.requestReboot('update', runOf(order));
    return { bootId };
  },
  verifyUpdate: async (work) => {
    const { host, target } = work;
    work.refuseSameBoot();
    const { journal } = host;
    refuseOther(work);
    if (journal?.goingBack !== undefined) {
      const { because } = journal.goingBack;
      if (host.os !== target.os) throw fail('WrongDeployment', because);
      throw fail('VerifyFailed', because);
    }
    await work.half();
    work.strike();
    if (host.files !== target.name) throw fail('VerifyFailed', `files of ${host.files}`);
    if (host.isEdited) throw fail('VerifyFailed', `${host.name} has an edited file`);
    if (host.os !== target.os) throw fail('VerifyFailed', `operating system ${host.os}`);
    if (target.unitFails) throw fail('VerifyFailed', 'unit chronyd.service has failed');
    const { commitWithinSeconds = 0 } = work.order;
    if (journal !== undefined) {
      journal.commitBy = work.world.now() + commitWithinSeconds * 1000;
      journal.verified = true;
      journal.verifiedIn = host.boot;
      if (target.cutsOnceVerified === true) host.cutLater(journal);
    }
    return { bootId: host.bootId };
  },
  commitUpdate: async (work) => {
    const { host, target } = work;
    await work.half();
    refuseOther(work);
    if (host.journal !== undefined) {
      if (host.journal.goingBack !== undefined) throw fail('RefusedRequest', 'it was taken back');
      commit(host, target);
    } else if (host.current !== target.name) {
      throw fail('RefusedRequest', `${target.name} is not applied on ${host.name}`);
    }
  },
  goBack: async (work) => {
    const { host, order, world, target } = work;
    const { journal, bootId } = host;
    if (order.onlyAsks === true) {
      const committed = journal === undefined && host.current === target.name;
      return { rebooting: false, bootId, ...(committed ? { committed } : {}) };
    }
    host.isBack = true;
    host.failed ??= order.failed;
    if (journal === undefined) {
      host.staged = undefined;
      return { rebooting: false, bootId };
    }
    await work.half();
    const rebooting = backTakesBoot(host, journal);
    const isAlone = journal.goingBack?.failed === true;
    const alone = isAlone ? { because: journal.goingBack?.because } : {};
    if (journal.goingBack === undefined) {
      const because = 'it was told to go back';
      const due = world.plants.bootsBackUnasked === true ? { due: true as const } : {};
      const boot = rebooting ? { bootId: host.boot, ...due } : {};
      journal.goingBack = { because, again: false, ...boot };
    }
    work.strike();
    if (world.plants.skipsUndo !== true) host.takeFilesBack(journal);
    host.staged = undefined;
    if (rebooting) {
      const askedAt = work.attempt.call.scheduledAt;
      journal.goingBack = { ...journal.goingBack, bootId: host.boot, due: true, askedAt };
      host.requestReboot('back', runOf(order));
    }
    return { rebooting, bootId, ...alone };
  },
  verifyBack: async (work) => {
    const { host } = work;
    work.refuseSameBoot();
    const { journal } = host;
    if (journal !== undefined && journal.goingBack === undefined) {
      throw fail('RefusedRequest', `${journal.target.name} is under way on ${host.name}`);
    }
    if (journal !== undefined && host.os !== journal.previousOs) {
      throw fail('WrongDeployment', `booted ${host.os}, expected ${journal.previousOs}`);
    }
    await work.half();
    work.strike();
    host.journal = undefined;
    return { bootId: host.bootId };
  },
  discardStaged: async (work) => {
    const { host, target } = work;
    host.isBack = true;
    await work.half();
    const { journal } = host;
    if (journal !== undefined) {
      // Taken over, and not gone on with.
      const isOurs = journal.target.name === target.name && !backTakesBoot(host, journal);
      if (isOurs) undo(host, journal);
      return isOurs ? { currentConfig: host.current } : { unsettled: true };
    }
    host.staged = undefined;
    host.answers.clear();
    return { currentConfig: host.current };
  },
};

/** Whoever is cut off by what it writes goes on writing, and nobody hears how that ended. */
async function unheardIfCut<T>({ attempt, target }: Work, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } finally {
    const isLast = attempt.call.type === 'applyUpdate';
    if (isLast && target.cutsWhenWritten === true) attempt.die();
  }
}

/** A lost update to the same config has failed here, and its node has not said so: it is taken back, and not tried again. */
function refuseFailed({ host, target, order, world }: Work): void {
  if (order.afterLost !== true || world.plants.forgetsFailures === true) return;
  const journal = host.journal?.target.name === target.name ? host.journal : undefined;
  const { goingBack } = journal ?? {};
  if (goingBack?.failed === true) host.failed ??= goingBack.because;
  if (host.failed === undefined) return;
  if (journal !== undefined && backTakesBoot(host, journal)) return;
  if (journal !== undefined) undo(host, journal);
  throw failedEarlier(host.failed);
}

interface Settled {
  readonly settled?: string;
  /** What the orders that follow have to do about it. */
  readonly underWay?: UpdatePlan;
}

/** What an earlier update left: finished, taken over, undone, or left to be taken back after the drain. */
function settle(work: Work): Settled {
  const { host, target, order, world } = work;
  const { journal } = host;
  if (journal === undefined) return {};
  const { name } = journal.target;
  const isWhole = journal.applied && journal.goingBack === undefined;
  // Whether its node became Ready, a verified host does not know.
  const isNamed = world.plants.believesItself === true || name === order.currentConfig?.name;
  if (isWhole && journal.verified && isNamed) {
    commit(host, journal.target);
    return { settled: `finished ${name}` };
  }
  if (isWhole && name === target.name) {
    return { settled: `took over ${name}`, underWay: planFor(host, target, journal) };
  }
  if (backTakesBoot(host, journal)) {
    const plan = { ...planFor(host, journal.target, journal), reboot: true, drain: true };
    return { settled: `is to take ${name} back`, underWay: plan };
  }
  undo(host, journal);
  return { settled: `undid ${name}` };
}

/** What proves or ends an update has nothing to say about another one. */
function refuseOther({ host, target }: Work): void {
  if (host.journal === undefined || host.journal.target.name === target.name) return;
  throw fail('RefusedRequest', `${host.journal.target.name} is under way on ${host.name}`);
}

/** A reboot by accident after everything was written: all of it is made again. */
async function applyAgain(work: Work): Promise<void> {
  const { journal } = work.host;
  const isInterrupted =
    journal?.target.name === work.target.name &&
    journal.applied &&
    journal.armed === undefined &&
    journal.goingBack?.again === true;
  if (isInterrupted) await STEPS.applyUpdate(work);
}

function runOf({ orderId }: HostOrder): string {
  return orderId.slice(0, orderId.lastIndexOf('/'));
}

function counts() {
  return { files: 1, units: 0 };
}
