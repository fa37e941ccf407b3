/** Each entry of a config after each other entry for the same path: what comes of it is as if it were the first. */

import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { findDrift } from '../../../../host/drift/compare';
import { noOriginalPath, originalPath } from '../../../../core/machine-config';
import type { IgnitionFile, IgnitionUnit } from '../../../../core/machine-config/types';
import {
  aConfig,
  aCopyOf,
  aFile,
  aHost,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

export type Entries = Readonly<Record<string, Parameters<typeof aConfig>[1]>>;
/** The machine had these before any config. */
export type Originals = Readonly<Record<string, (at: (path: string) => string) => void>>;

const FILE = '/etc/tool/x';
const file = (entry: Partial<IgnitionFile>) => ({
  config: { storage: { files: [{ path: FILE, ...entry }] } },
});
const source = (text: string) => ({ source: `data:,${text}` });

export const FILES: Entries = {
  nothing: {},
  text: file(aFile(FILE, 'text')),
  'other text, for root': file(aFile(FILE, 'other', 0o600)),
  'text of a user': file({ ...aFile(FILE, 'text'), user: { id: 1000 }, group: { id: 1000 } }),
  'no contents': file({ mode: 0o644 }),
  'appended text': file({ append: [source('more')] }),
  'appended text and a mode': file({ append: [source('more')], mode: 0o600 }),
};

const UNIT = 'tool.service';
const UNIT_FILE = `/etc/systemd/system/${UNIT}`;
const DROPIN_FILE = `${UNIT_FILE}.d/10-tool.conf`;
const unit = (entry: Partial<IgnitionUnit>) => ({
  config: { systemd: { units: [{ name: UNIT, ...entry }] } },
});
const text = (target: string) => `[Service]\n[Install]\nWantedBy=${target}\n`;
const dropins = (contents: string) => ({ dropins: [{ name: '10-tool.conf', contents }] });

export const UNITS: Entries = {
  nothing: {},
  contents: unit({ contents: text('a.target') }),
  'contents, enabled': unit({ contents: text('a.target'), enabled: true }),
  'contents of another target, enabled': unit({ contents: text('b.target'), enabled: true }),
  'contents, disabled': unit({ contents: text('a.target'), enabled: false }),
  'contents, not masked': unit({ contents: text('a.target'), mask: false }),
  'a mask': unit({ mask: true }),
  'a mask, with contents': unit({ mask: true, contents: text('a.target'), enabled: true }),
  'no mask': unit({ mask: false }),
  'a drop-in': unit(dropins('[Service]\nNice=1\n')),
  'an empty drop-in': unit(dropins('')),
};

function put(path: string, contents: string, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, contents);
  chmodSync(path, mode);
}

export const FILE_ORIGINALS: Originals = {
  nothing: () => undefined,
  'a file': (at) => put(at(FILE), 'of a person', 0o640),
};
const VENDOR = `/usr/lib/systemd/system/${UNIT}`;
export const UNIT_ORIGINALS: Originals = {
  nothing: () => undefined,
  'a unit of the distribution': (at) => put(at(VENDOR), text('v.target')),
  'a unit of a person': (at) => put(at(UNIT_FILE), text('p.target')),
  'a drop-in of a person': (at) => {
    put(at(VENDOR), text('v.target'));
    put(at(DROPIN_FILE), '[Service]\nNice=2\n');
  },
};

class Machine {
  readonly #configs: TestConfig[] = [];
  #host: TestHost | undefined;

  async begin(furnish: Originals[string]): Promise<void> {
    this.#host = await aHost(this.#configs);
    put(this.#at('/usr/lib/systemd/system-preset/90.preset'), 'disable *\n');
    mkdirSync(this.#at('/etc/systemd/system'), { recursive: true });
    furnish(this.#at);
    await this.change({});
  }

  async copy(): Promise<Machine> {
    const copy = new Machine();
    machines.push(copy);
    copy.#configs.push(...this.#configs);
    copy.#host = await aCopyOf({ root: this.host.root, configs: copy.#configs });
    return copy;
  }

  remove(): void {
    this.#host?.remove();
  }

  get host(): TestHost {
    if (this.#host === undefined) throw new Error('the machine has not begun');
    return this.#host;
  }

  readonly #at = (path: string): string => join(this.host.root, path);

  /** Takes the machine to a config, without the reboot: nothing here needs one to be seen. */
  async change(fields: Entries[string]): Promise<void> {
    const config = aConfig(`rendered-worker-${this.#configs.length}`, fields);
    const run = this.#configs.push(config);
    const activities = await this.host.activities();
    for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await activities[step]({ ...orderFor(config, step), orderId: `${run}/${step}` });
    }
    const drift = await findDrift(await this.host.ports(), config.spec);
    if (drift !== undefined) throw new Error(`the config does not hold: ${drift.reason}`);
  }

  /** Everything below these directories, as far as a config can name it. */
  look(): Readonly<Record<string, string>> {
    const found: Record<string, string> = {};
    for (const top of ['/etc/tool', '/etc/systemd/system']) {
      for (const path of filesBelow(this.#at(top))) {
        found[path.slice(this.host.root.length)] = factsOf(path);
      }
    }
    return found;
  }

  /** Which of the paths have a record of what was there before. */
  remembered(): readonly string[] {
    return [FILE, UNIT_FILE, DROPIN_FILE].filter((path) =>
      [originalPath(path), noOriginalPath(path)].some(
        (kept) => lstatSync(this.#at(kept), { throwIfNoEntry: false }) !== undefined,
      ),
    );
  }
}

function filesBelow(directory: string): readonly string[] {
  if (lstatSync(directory, { throwIfNoEntry: false }) === undefined) return [];
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => join(directory, name))
    .filter((path) => !lstatSync(path).isDirectory());
}

function factsOf(path: string): string {
  const stats = lstatSync(path);
  if (stats.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  const { mode, uid, gid } = stats;
  return `${(mode & 0o7777).toString(8)} ${uid}:${gid} ${JSON.stringify(readFileSync(path, 'utf8'))}`;
}

/** A walk in which each name comes right after each name, itself too, exactly once. */
function eachAfterEach(names: readonly string[]): readonly string[] {
  const left = new Map(names.map((name) => [name, [...names]]));
  const walk: string[] = [];
  const stack = [names[0] ?? ''];
  for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
    const next = left.get(at)?.pop();
    if (next === undefined) walk.unshift(stack.pop() ?? '');
    else stack.push(next);
  }
  return walk;
}

const machines: Machine[] = [];
afterEach(() => {
  for (const machine of machines.splice(0)) machine.remove();
});

async function aMachine(furnish: Originals[string]): Promise<Machine> {
  const machine = new Machine();
  machines.push(machine);
  await machine.begin(furnish);
  return machine;
}

/** Without contents of its own: only where there is such a unit. */
export const ENABLED: Entries = {
  nothing: {},
  enabled: unit({ enabled: true }),
  disabled: unit({ enabled: false }),
  'enabled, not masked': unit({ enabled: true, mask: false }),
  'contents, enabled': unit({ contents: text('a.target'), enabled: true }),
  'contents, disabled': unit({ contents: text('a.target'), enabled: false }),
  'a mask, enabled': unit({ mask: true, enabled: true }),
};

/** A mask that a config takes away does not come back, as with MCO. */
export const MASKED: Originals = {
  'a mask of a person': (at) => {
    put(at(VENDOR), text('v.target'));
    symlinkSync('/dev/null', at(UNIT_FILE));
  },
};

export const LINK: Originals = {
  'a link': (at) => {
    mkdirSync(dirname(at(FILE)), { recursive: true });
    symlinkSync('../first', at(FILE));
  },
};

/** The table without the rows that begin like this. */
export function without<Row>(table: Readonly<Record<string, Row>>, beginning: string) {
  return Object.fromEntries(Object.entries(table).filter(([name]) => !name.startsWith(beginning)));
}

/** Expects of each entry after each other one what it is as the first one, over what was there before. */
export async function expectSameAfterEach(
  entries: Entries,
  furnish: Originals[string],
): Promise<void> {
  const begun = await aMachine(furnish);
  const alone = new Map<string, Readonly<Record<string, string>>>();
  for (const [name, fields] of Object.entries(entries)) {
    const machine = await begun.copy();
    await machine.change(fields);
    alone.set(name, machine.look());
  }
  const names = Object.keys(entries);
  const walk = eachAfterEach(names);
  expect(walk).toHaveLength(names.length ** 2 + 1);

  let machine = await begun.copy();
  const different: unknown[] = [];
  let before = 'nothing';
  for (const name of walk) {
    await machine.change(entries[name]).catch((error: unknown) => {
      throw new Error(`"${name}" after "${before}": ${String(error)}`, { cause: error });
    });
    const step = { name, before };
    const [found, expected] = [machine.look(), alone.get(name)];
    try {
      expect({ step, found }).toEqual({ step, found: expected });
      if (name === 'nothing') expect(machine.remembered()).toEqual([]);
    } catch (error) {
      different.push(`${name} after ${before}: ${String(error)}`);
      machine = await begun.copy();
      await machine.change(entries[name]);
    }
    before = name;
  }
  expect(different).toEqual([]);
}
