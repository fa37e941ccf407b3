/**
 * Watches a host for drift: checks touched paths at once and everything now and then, reports to
 * the server, and repairs as the pool's policy allows. Never beside an update.
 */

import { backoffMs } from '../../core/backoff';
import type { PathProbe, PathWatch, PathWatchOptions } from '../../adapters/host';
import { mergeDisruptionPolicies } from '../../core/disruption';
import type { DriftAnswer, DriftRepair, DriftReport } from '../../core/drift';
import {
  DETAIL_LIMIT,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  printableWithin,
  REPAIRS_REPORTED,
  REPAIR_WINDOW,
} from '../../core/drift';
import { failureName, messageOf } from '../../core/errors';
import type { MachineTree } from '../../core/machine/tree';
import { UPDATER_PATHS, updatersText } from '../../core/machine/updaters';
import { rfc3339 } from '../../core/rfc3339';
import { FORCE_FILE } from '../records/committed-deployment';
import { baselineOf, type DriftBaseline, enablementDirectories } from './baseline';
import { DriftCheck } from './check';
import {
  type DriftRecords,
  readDriftRecords,
  repairsWithin,
  writeDriftRecords,
} from './drift-records';
import { repairDrift, type Repaired, type RepairPorts } from './repair';
import { keyOf, newsIn, retryAfterOf, updatersOn } from './news';
import { DRIFT_TIMING, type DriftTiming } from './timing';
import { Alarm } from './alarm';
import type { Exclusive } from '../exclusive';
import { type KubeletStarts, kubeletStarts } from './kubelet-starts';
import { openJournal } from '../transaction/open-journal';
import type { Log } from '../log';
import type { StepContext } from '../ports';
import { CURRENT_CONFIG_FILE, type HostConfig, readCurrentConfig } from '../records/configs';
import { endRepair } from './unfinished-repair';
import { UNIT_DIRECTORY } from '../paths/wanted-paths';

export interface DriftPorts extends Omit<RepairPorts, 'context'> {
  /** Of the host worker. */
  readonly version: string;
  readonly probe: PathProbe;
  readonly tree: MachineTree;
  /** The unit of this machine's kubelet; undefined = none. */
  kubeletUnit(): string | undefined;
  watch(on: Pick<PathWatchOptions, 'onTouched' | 'onTrouble'>): PathWatch;
  /** @throws `ConfigFetchFailed` (`details.retryAfter`, seconds), `ConfigForbidden` */
  report(report: DriftReport, signal: AbortSignal): Promise<DriftAnswer>;
}

export interface DriftOptions {
  readonly exclusive: Exclusive;
  readonly signal: AbortSignal;
  readonly log: Omit<Log, 'error'>;
  readonly timing?: Partial<DriftTiming>;
  /** From 0 to 1; spreads the work of many hosts. */
  readonly random?: () => number;
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
}

/** Failures are logged and retried. */
export async function watchDrift(ports: DriftPorts, options: DriftOptions): Promise<void> {
  await new DriftWatch(ports, options).run();
}

const REPAIR_PASSES = 2;
/** An update that stays open this long is logged. */
const BUSY_TOLD_MS = 15 * 60_000;

/** Alarm reason: the enablement of some unit has changed. */
const UNITS = 'units';

interface WatchedConfig {
  readonly baseline: DriftBaseline;
  readonly check: DriftCheck;
}

class DriftWatch {
  readonly #ports: DriftPorts;
  readonly #options: DriftOptions;
  readonly #timing: DriftTiming;
  readonly #alarm: Alarm;
  readonly #starts: KubeletStarts;
  readonly #touched = new Set<string>();
  #directories: ReadonlySet<string> = new Set();
  #watch: PathWatch | undefined;
  #host: WatchedConfig | undefined;
  #records: DriftRecords | undefined;
  /** The last accepted report, as text. */
  #told = '';
  #answer: DriftAnswer | undefined;
  #askedAt = 0;
  /** Findings of the last repair attempt, as text: not tried again while they stay. */
  #tried = '';
  /** Why these findings (as text) are not repaired. Kept, because each change causes a write. */
  #unrepaired: { readonly of: string; readonly why: string } | undefined;
  /** When an open update was first seen, or last logged. */
  #busySince: number | undefined;
  readonly #failures = { report: 0, look: 0 };

  constructor(ports: DriftPorts, options: DriftOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#timing = { ...DRIFT_TIMING, ...options.timing };
    this.#alarm = new Alarm(options.signal);
    this.#starts = kubeletStarts(() => ports.kubeletUnit());
  }

  async run(): Promise<void> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    this.#watch = this.#ports.watch({
      onTouched: (path) => {
        const isStart = this.#starts.isStart(path);
        if (isStart === true) this.#alarm.within('again', this.#timing.registered);
        if (isStart !== undefined) return;
        this.#touched.add(this.#directories.has(path) ? UNITS : path);
        this.#alarm.within('touched', this.#timing.quiet);
      },
      onTrouble: (directory, reason) => {
        log.warn({ node, directory, reason }, 'not watched; only checked now and then');
      },
    });
    this.#alarm.within('everything', 0);
    try {
      for (;;) {
        const reasons = await this.#alarm.rings();
        if (reasons === undefined) return;
        await this.#round(reasons).then(
          () => {
            this.#failures.look = 0;
          },
          (error: unknown) => {
            if (signal.aborted) return;
            log.warn({ node, reason: messageOf(error) }, 'drift not checked; will try again');
            this.#alarm.within('everything', this.#backoff('look'));
          },
        );
      }
    } finally {
      this.#watch.close();
    }
  }

  async #round(reasons: ReadonlySet<string>): Promise<void> {
    const { exclusive } = this.#options;
    const full = reasons.has('everything') || reasons.has('busy');
    // Reports and repairs that were given up are tried again.
    if (reasons.has('again') || reasons.has('everything')) [this.#told, this.#tried] = ['', ''];
    let report = await exclusive(() => this.#look(full));
    // The remaining findings are considered once more, to report why they remain.
    for (let pass = 0; pass <= REPAIR_PASSES; pass += 1) {
      const known = report;
      if (known === undefined || !(await this.#tell(known)) || pass === REPAIR_PASSES) return;
      if (!(await exclusive(() => this.#repair(known)))) return;
      report = await exclusive(() => this.#look(false));
    }
  }

  /** Undefined when an update is in progress, or there is no config. */
  async #look(full: boolean): Promise<DriftReport | undefined> {
    if (await this.#isBusy()) return undefined;
    const touched = new Set(this.#touched);
    this.#touched.clear();
    if (this.#host === undefined || touched.has(CURRENT_CONFIG_FILE)) await this.#readConfig();
    const host = this.#host;
    if (host === undefined) return undefined;
    if (full) {
      const { everything } = this.#timing;
      this.#alarm.within('everything', everything * (0.9 + 0.2 * this.#random()));
      await host.check.everything();
    } else {
      await host.check.paths(touched);
    }
    const isOfUnit = (path: string) => path === UNITS || path.startsWith(`${UNIT_DIRECTORY}/`);
    if ([...touched].some(isOfUnit)) {
      await host.check.units();
      await this.#watchPaths(host.baseline);
    }
    const report = this.#reportOf(host);
    await this.#remember(host, this.#records?.repairs ?? []);
    return report;
  }

  /** Also ends an unfinished repair. */
  async #isBusy(): Promise<boolean> {
    const journal = await openJournal(this.#ports);
    const { node } = this.#ports;
    const { log } = this.#options;
    if (journal === undefined) {
      this.#busySince = undefined;
      return false;
    }
    this.#alarm.within('busy', this.#timing.busy);
    if (journal.header.repair === true) {
      const ports = { ...this.#ports, context: () => this.#step() };
      log.warn({ node, what: await endRepair(ports, journal, await ports.os.status()) }, 'settled');
      return true;
    }
    const now = this.#ports.now().getTime();
    this.#busySince ??= now;
    if (now - this.#busySince < BUSY_TOLD_MS) return true;
    this.#busySince = now;
    log.warn({ node, update: journal.header.target.name }, 'drift not checked: an update is open');
    return true;
  }

  #step(): StepContext {
    const { signal, log } = this.#options;
    return { signal, progress: (text) => log.debug({ node: this.#ports.node }, text) };
  }

  /** Findings against another config are dropped. */
  async #readConfig(): Promise<void> {
    const { files, node } = this.#ports;
    const config = await readCurrentConfig(files);
    if (config === undefined) {
      this.#host = undefined;
      this.#watch?.set({ paths: [CURRENT_CONFIG_FILE] });
      return;
    }
    const { name, digest } = config.reference;
    if (this.#host?.baseline.reference.digest === digest) return;
    const baseline = await baselineOf(files, config);
    this.#records ??= await readDriftRecords(files);
    const since = this.#records.config === name ? Object.entries(this.#records.since) : [];
    this.#host = { baseline, check: new DriftCheck(this.#ports, baseline, new Map(since)) };
    this.#tried = '';
    this.#unrepaired = undefined;
    await this.#watchPaths(baseline);
    await this.#host.check.everything();
    this.#options.log.debug(
      { node, config: name, paths: baseline.paths.size },
      'watching for drift',
    );
  }

  async #watchPaths({ paths, units }: DriftBaseline): Promise<void> {
    const names = units.size === 0 ? [] : await this.#ports.files.list(UNIT_DIRECTORY);
    this.#directories = new Set(units.size === 0 ? [] : enablementDirectories(names));
    this.#watch?.set({
      paths: [
        ...paths.keys(),
        CURRENT_CONFIG_FILE,
        FORCE_FILE,
        ...this.#starts.paths(),
        ...UPDATER_PATHS,
      ],
      directories: this.#directories,
    });
  }

  #reportOf({ baseline, check }: WatchedConfig): DriftReport {
    const { findings } = check;
    // A finding that disappears and returns within a second is new.
    if (keyOf(findings) !== this.#tried) this.#tried = '';
    if (keyOf(findings) !== this.#unrepaired?.of) this.#unrepaired = undefined;
    const repairs = (this.#records?.repairs ?? []).slice(-REPAIRS_REPORTED);
    return {
      version: this.#ports.version,
      config: baseline.reference.name,
      findings: findings.slice(0, FINDINGS_REPORTED),
      count: findings.length,
      repairs: repairs.map(({ path, at }) => ({ path: printableWithin(path, PATH_LIMIT), at })),
      forced: this.#ports.probe.look(FORCE_FILE).kind !== 'absent',
      ...(this.#unrepaired === undefined ? {} : { unrepaired: this.#unrepaired.why }),
      ...updatersOn(this.#ports.tree),
    };
  }

  /** False when the report was refused and will be repeated. */
  async #tell(report: DriftReport): Promise<boolean> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    const text = newsIn(report);
    if (text === this.#told) return true;
    const [first] = report.findings;
    if (first !== undefined) {
      log.warn({ node, count: report.count, path: first.path, what: first.detail }, 'drifted');
    }
    if (report.updaters !== undefined) {
      log.warn(
        { node, reason: updatersText(report.updaters) },
        'other programs update the machine',
      );
    }
    try {
      const askedAt = this.#now();
      const answer = await this.#ports.report(report, signal);
      if (JSON.stringify(answer) !== JSON.stringify(this.#answer)) this.#tried = '';
      [this.#answer, this.#askedAt] = [answer, askedAt];
      this.#told = text;
      this.#failures.report = 0;
      // A person may change the policy because of the report.
      if (first !== undefined) this.#alarm.within('again', this.#timing.again);
      return true;
    } catch (error) {
      if (failureName(error) === undefined || signal.aborted) throw error;
      const wait = Math.max(this.#backoff('report'), retryAfterOf(error));
      log.debug({ node, reason: messageOf(error), wait }, 'drift not reported; will try again');
      this.#alarm.within('report', wait);
      return false;
    }
  }

  /** False when there is nothing new to report. */
  async #repair(report: DriftReport): Promise<boolean> {
    const host = this.#host;
    const findings = host?.check.findings ?? [];
    const answer = this.#answer;
    const key = keyOf(findings);
    if (host === undefined || answer === undefined || findings.length === 0) return false;
    if (answer.drift.mode !== 'Repair') {
      this.#unrepaired = undefined;
      return report.unrepaired !== undefined;
    }
    if (key === this.#tried) return false;
    if (await this.#isBusy()) return false;
    if (answer.mayDisturb && this.#now() - this.#askedAt > REPAIR_WINDOW.begun) {
      // After such a delay another node may have the turn.
      this.#told = '';
      this.#alarm.within('report', 0);
      return false;
    }
    const config = await readCurrentConfig(this.#ports.files);
    if (config?.reference.digest !== host.baseline.reference.digest) return false;
    this.#tried = key;
    const { paths, unrepaired } = await this.#rewrite(host, config, answer);
    const why = unrepaired && printableWithin(unrepaired, DETAIL_LIMIT);
    this.#unrepaired = why === undefined ? undefined : { of: key, why };
    for (const { path, kind } of findings) this.#touched.add(kind === 'unit' ? UNITS : path);
    if (paths.length === 0 && why === report.unrepaired) return false;
    const { log } = this.#options;
    log.info({ node: this.#ports.node, paths: paths.slice(0, 5), unrepaired }, 'drift repaired');
    return true;
  }

  #rewrite(host: WatchedConfig, config: HostConfig, answer: DriftAnswer): Promise<Repaired> {
    const now = this.#ports.now();
    const { limit, intervalSeconds } = answer.drift;
    const earlier = repairsWithin(this.#records?.repairs ?? [], intervalSeconds, now);
    const at = rfc3339(now);
    return repairDrift(
      { ...this.#ports, context: () => this.#step() },
      {
        config,
        findings: host.check.findings,
        policies: mergeDisruptionPolicies(answer.disruptionPolicies),
        mayRepair: (path) => earlier.filter((one) => one.path === path).length < limit,
        mayDisturb: answer.mayDisturb,
        count: (tried) =>
          this.#remember(host, [...earlier, ...tried.map((path) => ({ path, at }))]),
      },
    );
  }

  async #remember(
    { baseline, check }: WatchedConfig,
    repairs: readonly DriftRepair[],
  ): Promise<void> {
    const records = { config: baseline.reference.name, since: check.since, repairs };
    const isNews = JSON.stringify(records) !== JSON.stringify(this.#records);
    const wasEmpty = this.#records === undefined || this.#records.config === '';
    this.#records = records;
    const isEmpty = repairs.length === 0 && Object.keys(check.since).length === 0;
    // A host without drift writes nothing.
    if (isNews && !(wasEmpty && isEmpty)) await writeDriftRecords(this.#ports.files, records);
  }

  #backoff(of: 'report' | 'look'): number {
    const { retry, longestRetry, longestFirst } = this.#timing;
    const isFirst = of === 'report' && this.#answer === undefined;
    const most = isFirst ? Math.min(longestFirst, longestRetry) : longestRetry;
    this.#failures[of] += 1;
    const longest = backoffMs({ firstMs: retry, maxMs: most }, this.#failures[of]);
    return longest * (0.5 + 0.5 * this.#random());
  }

  #now(): number {
    return (this.#options.clock ?? (() => performance.now()))();
  }

  #random(): number {
    return (this.#options.random ?? Math.random)();
  }
}
