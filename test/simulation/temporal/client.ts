/** The Temporal client of the processes of Slipway: requests take time, fail, and arrive although nobody hears of it. */

import type { NodeUpdates } from '../../../activities/cluster/ports';
import { fail } from '../../../core/errors';
import { poolRolloutId, updateNodeId } from '../../../core/names';
import type { PoolRolloutInput, SeenVersions } from '../../../workflows/contracts/rollout';
import type { Chance, VirtualClock } from '../clock';
import type { TemporalModel } from './server';

/** How a request travels: answers reach only who lives. */
type Send = <T>(there: number, back: number, arrive: () => T) => Promise<T>;

interface ClientFaults {
  /** How long a request is held up, as when the part of the server that has a workflow moves; 0 = not. */
  holdsUpMs(): number;
}

/** Whoever has no answer by then has none. */
const DEADLINE_MS = 10_000;

export class TemporalClient {
  /** While the server is away every request fails. */
  isAway = false;

  constructor(
    private readonly clock: VirtualClock,
    private readonly chance: Chance,
    private readonly temporal: TemporalModel,
    private readonly faults: ClientFaults,
  ) {}

  /** As a step of a rollout uses it. */
  nodeUpdates(send: Send): NodeUpdates {
    const { temporal } = this;
    return {
      listOpen: (pool) => this.ask(send, () => temporal.openUpdatesOf(pool)),
      isClosed: (node, run) => this.ask(send, () => !temporal.isOpen(updateNodeId(node), run)),
      start: (input) =>
        this.ask(send, () => {
          const { node, pool, uid, takesBack } = input;
          const memo = { uid, ...(takesBack === undefined ? {} : { takesBack }) };
          const shown = { node, pool, config: input.config.name, ...memo };
          temporal.start('updateNode', updateNodeId(node), input, shown);
          return temporal.find(updateNodeId(node))?.runId ?? '';
        }),
      cancel: ({ node, run, reason }) =>
        this.ask(send, () => {
          temporal.note(updateNodeId(node), `is told to end: ${reason}`);
          temporal.cancel(updateNodeId(node), run);
        }),
    };
  }

  /** Starts the rollout of a pool, or has the open one look again. */
  wake(pool: string, seen: SeenVersions): Promise<void> {
    const input: PoolRolloutInput = { pool, isWoken: true };
    const start = { type: 'poolRollout', workflowId: poolRolloutId(pool), input };
    return this.ask(this.send, () => {
      this.temporal.signalWithStart(start, 'wake', { atLeast: seen });
    });
  }

  isOpen(pool: string): Promise<boolean> {
    return this.ask(this.send, () => this.temporal.isRunning(poolRolloutId(pool)));
  }

  private ask<T>(send: Send, arrive: () => T): Promise<T> {
    const { chance, faults } = this;
    const [there, back] = [chance.latency(5, 1_000), chance.latency(5, 1_000)];
    const heldUp = faults.holdsUpMs();
    const reach = (): T => {
      if (this.isAway) throw away('it is away');
      return arrive();
    };
    if (heldUp === 0) return send(there, back, reach);
    this.clock.after(there + heldUp, () => void (this.isAway || arrive()));
    return send(DEADLINE_MS, 0, () => {
      throw away('deadline exceeded');
    });
  }

  /** Of a process that has no attempts. */
  private readonly send: Send = (there, back, arrive) =>
    new Promise((resolve, reject) => {
      this.clock.after(there, () => {
        let answer: () => void;
        try {
          const value = arrive();
          answer = () => resolve(value);
        } catch (error) {
          const failure = error instanceof Error ? error : new Error(String(error));
          answer = () => reject(failure);
        }
        this.clock.after(back, answer);
      });
    });
}

function away(why: string): Error {
  return fail('TemporalUnavailable', `Temporal does not answer: ${why}`);
}
