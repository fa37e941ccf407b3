/**
 * The first boot of a machine, between Ignition and the kubelet: does what Ignition cannot, and
 * retries until it is done. Contacts no server but the registry of the OS image.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs, type Backoff } from '../../core/backoff';
import { completeFirstBoot, type FirstBoot } from './first-boot';
import { type FirstBootRecord, readFirstBoot, writeFirstBoot } from './first-boot-record';
import type { HostPorts, MachinePorts } from '../ports';
import { fail, failureName, FAILURES, messageOf } from '../../core/errors';
import { type Log, telling } from '../log';

/** A registry may be absent until a person restores it. */
const GIVE_UP_AFTER_MS = 24 * 3_600_000;
/** Failures for a person are retried for a while: the network may still be down. */
const GIVE_UP_STALLED_AFTER_MS = 300_000;
const BACKOFF: Backoff = { firstMs: 1_000, maxMs: 60_000 };
/** A power cut may repeat a reboot. */
const MOST_REBOOTS = 3;

interface NewMachine {
  readonly node: string;
  readonly ports: () => Promise<MachinePorts>;
  /** Resolves when this process ends with the machine. */
  readonly reboot: (reason: string) => Promise<void>;
}

interface FirstBootOptions {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly now?: () => Date;
  /** Monotonic, milliseconds: the clock of a new machine leaps. */
  readonly clock?: () => number;
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * Completes the first boot, with its reboot if it needs one. Transient failures are retried.
 *
 * @throws an Error with the reason when it cannot be completed; the kubelet should not start then
 */
export async function firstBoot(
  machine: NewMachine,
  options: FirstBootOptions,
): Promise<FirstBoot> {
  const { log } = options;
  const { node } = machine;
  const run = new FirstBootRun(machine, options);
  const done = await run.patiently();
  if (done.kind === 'complete') log.info({ node, config: done.config }, 'first boot complete');
  if (done.kind !== 'reboot') return done;
  // systemd ends this program; units that wait for it do not start.
  await machine.reboot(`first boot of ${done.config}`);
  return done;
}

class FirstBootRun {
  private attempts = 0;

  constructor(
    private readonly machine: NewMachine,
    private readonly options: FirstBootOptions,
  ) {}

  async patiently(): Promise<FirstBoot> {
    const { signal, log, pause = waitFor, clock = () => performance.now() } = this.options;
    const patience = new Patience(clock());
    for (;;) {
      this.attempts += 1;
      try {
        return await this.once();
      } catch (error) {
        if (signal.aborted) throw error;
        const reason = messageOf(error);
        if (patience.isOver(error, clock())) {
          await this.noteIfPossible({ state: 'failed', reason });
          throw error;
        }
        const ms = backoffMs(BACKOFF, this.attempts);
        const nextAttemptAt = new Date(this.now().getTime() + ms).toISOString();
        const failure = failureName(error);
        log.warn({ node: this.machine.node, failure, reason }, 'first boot: tried again soon');
        await this.noteIfPossible({ state: 'waiting', reason, nextAttemptAt });
        await pause(ms, signal);
      }
    }
  }

  private async once(): Promise<FirstBoot> {
    const ports = await this.ports();
    const done = await completeFirstBoot(ports, () => this.countReboot(ports));
    if (done.kind === 'complete') await this.note({ state: 'complete' });
    if (done.kind === 'none') await this.closeRecord(ports.files);
    return done;
  }

  /** After a crash between the end of the first boot and its record. */
  private async closeRecord(files: HostPorts['files']): Promise<void> {
    const record = await readFirstBoot(files);
    if (record === undefined || record.state === 'complete') return;
    await this.noteIfPossible({ state: 'complete' });
  }

  /** @throws `WrongDeployment` after too many reboots */
  private async countReboot({ node, files, os }: HostPorts): Promise<void> {
    const reboots = (await readFirstBoot(files))?.reboots ?? 0;
    if (reboots >= MOST_REBOOTS) {
      const { booted } = await os.status();
      throw fail(
        'WrongDeployment',
        `${node} rebooted ${reboots} times for its first boot, and is on deployment ${booted.id} again`,
      );
    }
    await this.note({ state: 'rebooting', reboots: reboots + 1 });
  }

  /** Without the kubelet, which waits for this program. */
  private async ports(): Promise<HostPorts> {
    const { machine, options } = this;
    const ports = await machine.ports();
    const { vitals } = ports;
    return {
      ...ports,
      ...telling(machine.node, options.log),
      ...(vitals === undefined
        ? {}
        : { vitals: { ...vitals, kubeletHealthy: () => Promise.resolve() } }),
      configs: {
        fetch: (name) =>
          Promise.reject(fail('ConfigFetchFailed', `${name}: a first boot fetches nothing`)),
      },
      // The caller reboots after the record is written.
      reboot: { request: () => undefined },
      now: () => this.now(),
      context: () => ({ signal: options.signal, progress: () => undefined }),
    };
  }

  /** A full disk must not hide the result. */
  private async noteIfPossible(record: Parameters<FirstBootRun['note']>[0]): Promise<void> {
    try {
      await this.note(record);
    } catch (error) {
      const { node } = this.machine;
      this.options.log.warn({ node, reason: messageOf(error) }, 'first boot: record not written');
    }
  }

  private async note(record: Partial<FirstBootRecord> & Pick<FirstBootRecord, 'state'>) {
    const { files } = await this.ports();
    const before = await readFirstBoot(files);
    await writeFirstBoot(files, {
      since: before?.since ?? this.now().toISOString(),
      reboots: before?.reboots ?? 0,
      attempts: this.attempts,
      ...record,
    });
  }

  private now(): Date {
    return this.options.now?.() ?? new Date();
  }
}

/** How long a run has been failing: in all, and in the present way. */
class Patience {
  private last: { readonly ms: number; readonly sinceMs: number } | undefined;

  constructor(private readonly startedMs: number) {}

  /** A failure of another kind starts its own time, up to a day in all. */
  isOver(error: unknown, nowMs: number): boolean {
    const ms = patienceMs(error);
    if (this.last?.ms !== ms) this.last = { ms, sinceMs: nowMs };
    return nowMs - this.last.sinceMs >= ms || nowMs - this.startedMs >= GIVE_UP_AFTER_MS;
  }
}

function patienceMs(error: unknown): number {
  const name = failureName(error);
  // Waiting does not fix these.
  if (name === 'RollbackFailed' || name === 'WrongDeployment' || name === 'Unreconcilable')
    return 0;
  const kind = name === undefined ? 'stalled' : FAILURES[name].kind;
  return kind === 'stalled' ? GIVE_UP_STALLED_AFTER_MS : GIVE_UP_AFTER_MS;
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal });
}
