/** What goes wrong, when, and how: drawn from the seed, until the weather clears. */

import { CancelledFailure } from '@temporalio/common';
import { fail, type FailureName } from '../../../core/errors';
import { toFailure } from '../../../activities/failures';
import type { Chance } from '../clock';
import type { Attempt } from '../temporal/attempt';

/** How a kind of failure of the catalogue shows at a step; steps that are not here only fail for a while. */
const STALLED: Readonly<Record<string, readonly FailureName[]>> = {
  prepareUpdate: ['ConfigForbidden', 'DigestMismatch', 'ImageRefused', 'ConfigDrift'],
  applyUpdate: ['ApplyFailed', 'OsCommandFailed'],
  performServiceActions: ['ServiceFailed'],
  armReboot: ['OsCommandFailed'],
  verifyUpdate: ['VerifyFailed'],
  goBack: ['RollbackFailed'],
  verifyBack: ['VerifyFailed'],
  takeOutOfService: ['ApiRefused'],
};
const WAITING: Readonly<Record<string, FailureName>> = {
  drainNode: 'DrainBlocked',
  verifyUpdate: 'NotYetRebooted',
  verifyBack: 'NotYetRebooted',
};
const TRANSIENT_ON_HOST: readonly FailureName[] = ['ConfigFetchFailed', 'PullFailed'];
const TRANSIENT_IN_CLUSTER: readonly FailureName[] = ['ApiUnavailable', 'Conflict', 'ApiForbidden'];
/** A step may die between what it writes and what it does then, and stand still in between. */
const STEPS: ReadonlySet<string> = new Set(['step', 'takeOutOfService']);
const STEP_MS = 8_000;

/** Longer than any single attempt may take. */
const FOR_EVER_MS = 7 * 24 * 3_600_000;

/**
 * Steps of an update that write its Node: whoever wakes up late with one may meet the next update. And what
 * writes down the word of a person, who may have said the opposite since.
 */
const WRITES: ReadonlySet<string> = new Set([
  ...['takeOutOfService', 'cordonAgain', 'completeNode', 'releaseNode', 'writeWord', 'step'],
]);

/** Long enough for the next update of the node to be under way. */
const LONG_STOP_MS = 10 * 60_000;

/** Longer than whoever sends it waits for the answer. */
const LONG_MESSAGE_MS = 90_000;

/** How bad the weather is: chances per attempt. */
export interface Weather {
  /** An attempt of an activity fails, hangs, dies or falls silent. */
  readonly activity: number;
  /** A workflow task is lost. */
  readonly task: number;
  /** A worker forgets a workflow that it has in memory. */
  readonly memory: number;
  /** A request to Temporal is held up. */
  readonly message: number;
}

export class Faults {
  isCalm = false;

  constructor(
    private readonly chance: Chance,
    private readonly weather: Weather,
    readonly longHistory: number,
    /** Numbers of its own: what is drawn from the other is the same with messages that are held up and without. */
    private readonly own: Chance,
    /** The worker that carries an attempt out dies, with all that it does. */
    private readonly killWorkerOf: (attempt: Attempt) => void,
  ) {}

  losesTask(): boolean {
    return !this.isCalm && this.chance.is(this.weather.task);
  }

  /** A long history is replayed less often: it takes so long. */
  forgets(steps: number): boolean {
    return !this.isCalm && this.chance.is(this.weather.memory * Math.min(1, 15 / (steps + 1)));
  }

  holdsUpMs(): number {
    if (this.isCalm || !this.own.is(this.weather.message)) return 0;
    return this.own.between(5_000, LONG_MESSAGE_MS);
  }

  /** Something goes wrong inside a step of a host, between its two halves. */
  strike(step: string): void {
    if (this.isCalm || !this.chance.is(this.weather.activity)) return;
    throw this.failure(step, TRANSIENT_ON_HOST);
  }

  /** Carries an attempt out, or not quite. */
  async around(attempt: Attempt, carryOut: () => Promise<unknown>): Promise<unknown> {
    try {
      if (this.isCalm || !this.chance.is(this.weather.activity)) return await carryOut();
      return await this.carryOutBadly(attempt, carryOut);
    } catch (error) {
      if (error instanceof CancelledFailure) throw error;
      throw toFailure(error, attempt.call.attempt, attempt.call.type);
    }
  }

  private async carryOutBadly(
    attempt: Attempt,
    carryOut: () => Promise<unknown>,
  ): Promise<unknown> {
    const { type, isLocal } = attempt.call;
    attempt.isStruck = true;
    switch (this.chance.pick(['fails', 'fails', 'answer', 'dies', 'hangs', 'silent', 'stops'])) {
      case 'fails':
        await attempt.sleep(this.chance.latency(50, 5_000));
        throw this.failure(type, TRANSIENT_IN_CLUSTER);
      case 'answer':
        // Done, and nobody hears of it: the attempt is repeated.
        await carryOut();
        if (!isLocal) {
          attempt.die();
          return attempt.never();
        }
        await attempt.sleep(FOR_EVER_MS);
        return undefined;
      case 'dies':
        if (STEPS.has(type)) return this.dieMeanwhile(attempt, carryOut);
        await attempt.sleep(this.chance.latency(200, 5_000));
        if (!isLocal) this.killWorkerOf(attempt);
        return attempt.never();
      case 'hangs':
        if (!isLocal && WRITES.has(type)) return this.stopMeanwhile(attempt, carryOut);
        // Nobody hears a process that does nothing.
        attempt.fallSilent();
        await attempt.sleep(this.chance.is(0.5) ? FOR_EVER_MS : this.chance.between(4_000, 60_000));
        return carryOut();
      case 'silent':
        // Heartbeats do not arrive, so it is given up while it goes on.
        attempt.fallSilent();
        await attempt.sleep(this.chance.between(10_000, 40_000));
        return carryOut();
      default:
        // A worker that stops cancels what it does, without anybody having asked for it.
        await attempt.sleep(this.chance.latency(200, 5_000));
        throw new CancelledFailure('worker is shutting down');
    }
  }

  /** Its worker ends in the middle of it. */
  private dieMeanwhile(attempt: Attempt, carryOut: () => Promise<unknown>): Promise<unknown> {
    attempt.timer(this.chance.between(0, STEP_MS), () => {
      this.killWorkerOf(attempt);
    });
    return carryOut();
  }

  /** Its process stands still before it begins, or in the middle of it. */
  private async stopMeanwhile(
    attempt: Attempt,
    carryOut: () => Promise<unknown>,
  ): Promise<unknown> {
    const forMs = this.chance.between(4_000, LONG_STOP_MS);
    if (STEPS.has(attempt.call.type) && this.chance.is(0.7)) {
      attempt.timer(this.chance.between(0, STEP_MS), () => void attempt.standStill(forMs));
    } else await attempt.standStill(forMs);
    return carryOut();
  }

  private failure(step: string, transient: readonly FailureName[]): Error {
    const kind = this.chance.pick(['transient', 'transient', 'waiting', 'stalled', 'bug']);
    const waiting = WAITING[step];
    const stalled = STALLED[step];
    if (kind === 'waiting' && waiting !== undefined) return fail(waiting, `simulated ${waiting}`);
    if (kind === 'stalled' && stalled !== undefined) {
      const name = this.chance.pick(stalled);
      return fail(name, `simulated ${name}`);
    }
    if (kind === 'bug') return new TypeError('simulated bug of an activity');
    const name = this.chance.pick(transient);
    return fail(name, `simulated ${name}`);
  }
}
