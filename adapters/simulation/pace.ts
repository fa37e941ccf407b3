/** Durations and failures of simulated steps. Equal seeds give equal runs. */

import { setTimeout as delay } from 'node:timers/promises';

/** Each varied by up to `jitter` (0.2 = ±20 %). */
export interface SimulatedDurations {
  readonly stageSeconds: number;
  readonly applySeconds: number;
  /** All reloads and restarts of an update together. */
  readonly serviceSeconds: number;
  readonly rebootSeconds: number;
  readonly jitter: number;
  readonly seed: number;
}

export const DEFAULT_DURATIONS: SimulatedDurations = {
  stageSeconds: 3,
  applySeconds: 1,
  serviceSeconds: 0,
  rebootSeconds: 8,
  jitter: 0.2,
  seed: 1,
};

export const FAILURE_POINTS = ['prepare', 'apply', 'verify', 'boot'] as const;
export type FailurePoint = (typeof FAILURE_POINTS)[number];

/** `times` times. */
export interface SimulatedFailure {
  readonly node: string;
  readonly at: FailurePoint;
  readonly times: number;
}

export interface Pace {
  /** Throws the signal's reason when it fires. */
  take(step: 'stage' | 'apply' | 'service' | 'reboot', signal?: AbortSignal): Promise<void>;
}

/** @param node - part of the seed, so that hosts differ */
export function createPace(node: string, durations: SimulatedDurations): Pace {
  const random = seededRandom(`${durations.seed}/${node}`);
  const seconds = {
    stage: durations.stageSeconds,
    apply: durations.applySeconds,
    service: durations.serviceSeconds,
    reboot: durations.rebootSeconds,
  };
  return {
    async take(step, signal) {
      const factor = 1 + durations.jitter * (2 * random() - 1);
      const ms = Math.max(0, seconds[step] * factor * 1000);
      if (ms === 0) return signal?.throwIfAborted();
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    },
  };
}

export interface FailurePlan {
  /** Counts down. */
  strikes(node: string, at: FailurePoint): boolean;
}

export function createFailurePlan(failures: readonly SimulatedFailure[]): FailurePlan {
  const left = failures.map((failure) => ({ ...failure }));
  return {
    strikes(node, at) {
      const due = left.find((entry) => entry.node === node && entry.at === at && entry.times > 0);
      if (due === undefined) return false;
      due.times -= 1;
      return true;
    },
  };
}

/** Numbers in [0, 1) that depend only on the text (mulberry32 over an FNV-1a hash). */
export function seededRandom(text: string): () => number {
  let state = 0x811c9dc5;
  for (const character of text) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
