/** Finds drift: checks touched paths at once, and others when their stamp has changed. */

import type { PathProbe } from '../../adapters/host';
import type { DriftFinding, DriftKind } from '../../core/drift';
import { DETAIL_LIMIT, PATH_LIMIT, printableWithin } from '../../core/drift';
import { messageOf } from '../../core/errors';
import { rfc3339 } from '../../core/rfc3339';
import { enablementDrift, findOsDrift } from './compare';
import type { DriftBaseline } from './baseline';
import { differenceAt, type Difference, type ObservedPath } from './difference';
import type { HostPorts } from '../ports';

interface CheckPorts extends Pick<HostPorts, 'systemd' | 'os' | 'now'> {
  readonly probe: PathProbe;
}

const unitKey = (unit: string): string => `unit ${unit}`;
const OS_KEY = 'os';

interface Known {
  readonly stamp: string;
  readonly difference: Difference | undefined;
}

/** Remembers stamps, so that a full check hashes nothing twice. */
export class DriftCheck {
  readonly #ports: CheckPorts;
  readonly #baseline: DriftBaseline;
  readonly #known = new Map<string, Known>();
  readonly #findings = new Map<string, DriftFinding>();
  /** When each finding was first seen, from an earlier process. */
  readonly #since: ReadonlyMap<string, string>;

  /** @param since - times by `path`, `unit NAME` or `os` */
  constructor(
    ports: CheckPorts,
    baseline: DriftBaseline,
    since: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#ports = ports;
    this.#baseline = baseline;
    this.#since = since;
  }

  /** Files, units, operating system; each by path. */
  get findings(): readonly DriftFinding[] {
    const rank = ({ kind }: DriftFinding) => (kind === 'os' ? 2 : kind === 'unit' ? 1 : 0);
    return [...this.#findings.values()].sort(
      (a, b) => rank(a) - rank(b) || (a.path < b.path ? -1 : 1),
    );
  }

  /** By finding. */
  get since(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#findings].map(([key, { since }]) => [key, since]));
  }

  async paths(touched: Iterable<string>): Promise<void> {
    for (const path of touched) {
      this.#known.delete(path);
      await this.#path(path);
    }
  }

  async units(): Promise<void> {
    for (const [unit, enabled] of this.#baseline.units) {
      const detail = await enablementDrift(this.#ports, unit, enabled);
      this.#note(unitKey(unit), unit, detail === undefined ? undefined : { kind: 'unit', detail });
    }
  }

  /** Reads only what was written since. */
  async everything(): Promise<void> {
    for (const path of this.#baseline.paths.keys()) await this.#path(path);
    await this.units();
    await this.#os();
  }

  async #path(path: string): Promise<void> {
    const expected = this.#baseline.paths.get(path);
    if (expected === undefined) return;
    try {
      const { probe } = this.#ports;
      const { kind, mode, target = '', stamp } = probe.look(path);
      const known = this.#known.get(path);
      if (known?.stamp === stamp) return;
      const observed: ObservedPath =
        kind === 'file'
          ? { kind, mode, sha256: () => probe.sha256(path) }
          : kind === 'symlink'
            ? { kind, target }
            : { kind };
      const difference = await differenceAt(path, expected, observed);
      this.#known.set(path, { stamp, difference });
      this.#note(path, path, difference);
    } catch (error) {
      this.#known.delete(path);
      this.#note(path, path, { kind: 'unreadable', detail: `${path}: ${codeOf(error)}` });
    }
  }

  async #os(): Promise<void> {
    const { os } = this.#ports;
    if (!os.managesOs) return;
    const detail = findOsDrift(await os.status(), this.#baseline.spec);
    this.#note(OS_KEY, '', detail === undefined ? undefined : { kind: 'os', detail });
  }

  #note(key: string, path: string, found: Difference | undefined): void {
    if (found === undefined) {
      this.#findings.delete(key);
      return;
    }
    const since =
      this.#findings.get(key)?.since ?? this.#since.get(key) ?? rfc3339(this.#ports.now());
    const { kind, detail }: { kind: DriftKind; detail: string } = found;
    this.#findings.set(key, {
      path: printableWithin(path, PATH_LIMIT),
      kind,
      detail: printableWithin(detail, DETAIL_LIMIT),
      since,
    });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : messageOf(error);
}
