/** For people at the console. */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { failureName, messageOf } from '../../core/errors';
import type { HostActivities, UpdateOrder } from '../../workflows/contracts/host';
import type { Log } from '../log';

/** In memory, valid for this boot. */
const STATE_FILE = 'run/slipway/host.json';

export type Connection = 'waiting' | 'connected' | 'rebooting';

export interface LastOrder {
  readonly activity: string;
  readonly orderId: string;
  readonly config: string;
  /** RFC 3339; absent: it is running. */
  readonly endedAt?: string;
  /** Absent: it was carried out. */
  readonly failure?: string;
  readonly reason?: string;
}

export interface WorkerState {
  readonly pid: number;
  readonly startedAt: string;
  readonly temporal: string;
  readonly connection: Connection;
  readonly since: string;
  readonly lastOrder?: LastOrder;
  /** And no reboot is due. */
  readonly isSettled?: boolean;
}

interface WorkerStateWriter {
  settled(): void;
  connection(connection: Connection): void;
  /** Records begin and end of the activities. */
  watch(activities: HostActivities): HostActivities;
}

/** The first failure to write is logged. */
export function createWorkerState(root: string, temporal: string, log: Log): WorkerStateWriter {
  const file = join(root, STATE_FILE);
  const now = (): string => new Date().toISOString();
  let state: WorkerState = {
    pid: process.pid,
    startedAt: now(),
    temporal,
    connection: 'waiting',
    since: now(),
  };
  let isWritable = true;

  function change(next: Partial<WorkerState>): void {
    state = { ...state, ...next };
    if (!isWritable) return;
    try {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
      renameSync(`${file}.new`, file);
    } catch (error) {
      isWritable = false;
      log.warn({ file, reason: messageOf(error) }, 'state of the worker cannot be written');
    }
  }

  async function watchOne(
    activity: string,
    run: (order: UpdateOrder) => Promise<unknown>,
    order: UpdateOrder,
  ): Promise<unknown> {
    const about = { activity, orderId: order.orderId, config: order.config.name };
    change({ lastOrder: about });
    try {
      const result = await run(order);
      change({ lastOrder: { ...about, endedAt: now() } });
      return result;
    } catch (error) {
      const failure = failureName(error) ?? 'Error';
      change({ lastOrder: { ...about, endedAt: now(), failure, reason: messageOf(error) } });
      throw error;
    }
  }

  return {
    settled: () => change({ isSettled: true }),
    connection: (connection) => change({ connection, since: now() }),
    watch(activities) {
      const watched = Object.entries(activities).map(([name, activity]) => {
        const run = activity as (order: UpdateOrder) => Promise<unknown>;
        return [name, (order: UpdateOrder) => watchOne(name, run, order)];
      });
      return Object.fromEntries(watched) as HostActivities;
    },
  };
}

export function isRunning({ pid }: WorkerState): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error && error.code === 'EPERM';
  }
}

/** Undefined = no worker has run in this boot. */
export function readWorkerState(root: string): WorkerState | undefined {
  try {
    // Only this module writes it, atomically.
    return JSON.parse(readFileSync(join(root, STATE_FILE), 'utf8')) as WorkerState;
  } catch {
    return undefined;
  }
}
