/**
 * Keeps the certificates and secrets beside the config on this machine: waits at the server for
 * another bundle, and writes it at once, also while the pool is paused. Never beside an update.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { PathWatch, PathWatchOptions } from '../../adapters/host';
import { backoffMs } from '../../core/backoff';
import { printableWithin } from '../../core/drift';
import { failureName, messageOf } from '../../core/errors';
import {
  type BundleReport,
  type HostBundle,
  LEFT_REPORTED,
  PROBLEM_LIMIT,
} from '../../core/host-bundle';
import { Alarm } from '../drift/alarm';
import { retryAfterOf } from '../drift/news';
import { endRepair } from '../drift/unfinished-repair';
import type { Exclusive } from '../exclusive';
import type { Log } from '../log';
import type { StepContext } from '../ports';
import { CURRENT_CONFIG_FILE } from '../records/configs';
import { openJournal } from '../transaction/open-journal';
import { KUBECONFIGS } from './bundle-changes';
import { type BundlePorts, writeBundle } from './write-bundle';

export interface FollowPorts extends Omit<BundlePorts, 'context'> {
  watch(on: Pick<PathWatchOptions, 'onTouched' | 'onTrouble'>): PathWatch;
  /**
   * @throws `ConfigFetchFailed` (`details.retryAfter`, seconds), `ConfigForbidden`
   */
  ask(report: BundleReport, signal: AbortSignal): Promise<HostBundle | undefined>;
}

/** Milliseconds. */
interface FollowTiming {
  /** From the first touch of a file to the look at it. */
  readonly quiet: number;
  /** Until an update that is under way is looked at again. */
  readonly busy: number;
  /** Kubelets that have to start again do it within this time. */
  readonly kubelets: number;
  /** From a bundle to the report that it is not on the disk yet. */
  readonly patience: number;
  /** After a refused request, or a bundle that could not be written; doubled up to its longest. */
  readonly retry: number;
  readonly longest: Readonly<Record<'ask' | 'write', number>>;
}

const TIMING: FollowTiming = {
  quiet: 500,
  busy: 5_000,
  kubelets: 30_000,
  patience: 2_000,
  retry: 2_000,
  // A write may restart the kubelet.
  longest: { ask: 60_000, write: 300_000 },
};

/** Alarm reason: it is the turn of this host to restart its kubelet. */
const TURN = 'turn';

/** A balancer may end a wait that is silent for this long or longer; the server is well. */
const CUT_MS = 10_000;

export interface FollowOptions {
  readonly exclusive: Exclusive;
  readonly signal: AbortSignal;
  readonly log: Omit<Log, 'error'>;
  readonly timing?: Partial<FollowTiming>;
  /** From 0 to 1; spreads the work of many hosts. */
  readonly random?: () => number;
}

/** Until the signal aborts. Failures are logged, reported and retried. */
export async function followBundle(ports: FollowPorts, options: FollowOptions): Promise<void> {
  await new BundleFollower(ports, options).run();
}

/** Asks and writes beside each other: a new bundle never waits for what became of an earlier one. */
class BundleFollower {
  readonly #ports: FollowPorts;
  readonly #options: FollowOptions;
  readonly #timing: FollowTiming;
  readonly #alarm: Alarm;
  #watch: PathWatch | undefined;
  /** The one to have on the disk. */
  #bundle: HostBundle | undefined;
  /** A newer one, which waits for its turn to restart the kubelet. */
  #next: HostBundle | undefined;
  #onDisk: Pick<BundleReport, 'digest' | 'leftToConfig'> = {};
  /** Why the bundle is not on the disk. */
  #problem: string | undefined;
  /** Ends a wait at the server or after a refusal, because there is something new to tell. */
  #news = new AbortController();
  /** The last report that the server got, as text. */
  #told = '';
  readonly #failures = { ask: 0, write: 0 };

  constructor(ports: FollowPorts, options: FollowOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#alarm = new Alarm(options.signal);
  }

  async run(): Promise<void> {
    const { log } = this.#options;
    const { node } = this.#ports;
    this.#watch = this.#ports.watch({
      onTouched: () => this.#alarm.within('touched', this.#timing.quiet),
      onTrouble: (directory, reason) => {
        log.warn({ node, directory, reason }, 'not watched for certificates');
      },
    });
    try {
      await Promise.all([this.#asking(), this.#writing()]);
    } finally {
      this.#watch.close();
    }
  }

  async #asking(): Promise<void> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    while (!signal.aborted) {
      this.#news = new AbortController();
      const both = AbortSignal.any([signal, this.#news.signal]);
      const report = this.#reportNow();
      this.#told = JSON.stringify(report);
      const since = performance.now();
      try {
        const bundle = await this.#ports.ask(report, both);
        this.#failures.ask = 0;
        if (bundle === undefined) continue;
        this.#take(bundle);
        await pause(this.#timing.patience, both);
        await pause(this.#random() * this.#timing.quiet, signal);
      } catch (error) {
        if (both.aborted) continue;
        if (failureName(error) === undefined) throw error;
        if (performance.now() - since > CUT_MS) this.#failures.ask = 0;
        const wait = Math.max(this.#backoff('ask'), retryAfterOf(error));
        log.debug({ node, reason: messageOf(error), wait }, 'no bundle; will ask again');
        await pause(wait, both);
      }
    }
  }

  #take(bundle: HostBundle): void {
    const { node } = this.#ports;
    const { pool, digest, apiServerAuthority } = bundle;
    this.#options.log.debug({ node, pool, digest }, 'bundle received');
    this.#problem = undefined;
    this.#failures.write = 0;
    const known = this.#bundle;
    if (known !== undefined && known.apiServerAuthority !== apiServerAuthority) {
      this.#next = bundle;
      this.#alarm.within(TURN, this.#random() * this.#timing.kubelets);
    } else {
      [this.#bundle, this.#next] = [bundle, undefined];
      this.#alarm.within('received', 0);
    }
  }

  async #writing(): Promise<void> {
    for (;;) {
      const reasons = await this.#alarm.rings();
      if (reasons === undefined) return;
      if (reasons.has(TURN)) {
        this.#bundle = this.#next ?? this.#bundle;
        this.#next = undefined;
      }
      await this.#options.exclusive(() => this.#writeNow());
      if (JSON.stringify(this.#reportNow()) !== this.#told) this.#news.abort();
    }
  }

  async #writeNow(): Promise<void> {
    const { signal, log } = this.#options;
    const bundle = this.#bundle;
    const { node } = this.#ports;
    if (bundle === undefined || signal.aborted) return;
    try {
      if (await this.#isBusy()) {
        this.#alarm.within('busy', this.#timing.busy);
        return;
      }
      const { paths, leftToConfig } = await writeBundle(this.#portsNow(), bundle);
      if (paths.length > 0) log.info({ node, paths, digest: bundle.digest }, 'bundle written');
      this.#failures.write = 0;
      const left = leftToConfig.slice(0, LEFT_REPORTED);
      this.#onDisk = {
        digest: bundle.digest,
        ...(left.length === 0 ? {} : { leftToConfig: left }),
      };
      this.#problem = undefined;
    } catch (error) {
      if (signal.aborted) return;
      const problem = printableWithin(messageOf(error), PROBLEM_LIMIT);
      log.warn({ node, reason: problem }, 'bundle not written; will try again');
      this.#alarm.within('again', this.#backoff('write'));
      // A problem of an earlier bundle is none of the new one.
      if ((this.#next ?? this.#bundle) === bundle) this.#problem = problem;
    }
    this.#watch?.set({
      paths: [...bundle.files.map(({ path }) => path), ...KUBECONFIGS, CURRENT_CONFIG_FILE],
    });
  }

  /** Also ends an unfinished write. */
  async #isBusy(): Promise<boolean> {
    const ports = this.#portsNow();
    const journal = await openJournal(ports);
    if (journal === undefined) return false;
    if (journal.header.repair !== true) return true;
    const { log } = this.#options;
    log.warn(
      { node: ports.node, what: await endRepair(ports, journal, await ports.os.status()) },
      'settled',
    );
    return false;
  }

  #portsNow(): BundlePorts {
    const context = (): StepContext => {
      const { signal, log } = this.#options;
      return { signal, progress: (text) => log.debug({ node: this.#ports.node }, text) };
    };
    return { ...this.#ports, context };
  }

  #reportNow(): BundleReport {
    const given = (this.#next ?? this.#bundle)?.digest;
    return {
      ...this.#onDisk,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      ...(given === undefined ? {} : { given }),
    };
  }

  #backoff(of: 'ask' | 'write'): number {
    const { retry, longest } = this.#timing;
    this.#failures[of] += 1;
    const most = backoffMs({ firstMs: retry, maxMs: longest[of] }, this.#failures[of]);
    return most * (0.5 + 0.5 * this.#random());
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }
}

/** Ends early on abort; keeps no process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
