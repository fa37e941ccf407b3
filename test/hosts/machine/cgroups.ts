/** The control groups of one host, one in every hierarchy: no two kubelets share a group. */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';

export interface HostGroups {
  /** Moves the shell into every group. */
  readonly join: string;
  /** A kubelet would wait for each group that a boot left behind. */
  sweep(): void;
  /**
   * Ends every process except `survivor` between two instructions, so that none sees another end.
   * The survivor is the parent of the first one, and notices when the last one has ended.
   */
  cut(survivor: number): void;
  remove(): void;
}

export function createGroups(name: string): HostGroups {
  const groups = hierarchies().map(({ mount, path }) => join(mount, path, name));
  for (const group of groups) {
    mkdirSync(group, { recursive: true });
    for (const inherited of ['cpuset.cpus', 'cpuset.mems']) {
      if (existsSync(join(group, inherited)) && group.startsWith(join(ROOT, 'cpuset'))) {
        writeFileSync(join(group, inherited), readFileSync(join(group, '..', inherited)));
      }
    }
  }
  const sweep = (): void => {
    for (const group of groups) for (const below of childGroups(group)) removeTree(below);
  };
  return {
    join: groups.map((group) => `echo $$ >'${join(group, 'cgroup.procs')}'`).join(' && '),
    sweep,
    cut: (survivor) => {
      const frozen = groups.map(freezerOf).find((freezer) => freezer !== undefined);
      if (frozen === undefined) throw new Error(`no group of ${name} can be frozen`);
      killFrozen(frozen, survivor);
    },
    remove: () => {
      sweep();
      for (const group of groups) if (existsSync(group)) rmdirSync(group);
    },
  };
}

interface Freezer {
  readonly group: string;
  freeze(): void;
  isFrozen(): boolean;
  thaw(): void;
}

/** Undefined where the group has no freezer. */
function freezerOf(group: string): Freezer | undefined {
  const [first, second] = [join(group, 'freezer.state'), join(group, 'cgroup.freeze')];
  if (existsSync(first)) {
    return {
      group,
      freeze: () => writeFileSync(first, 'FROZEN'),
      isFrozen: () => readFileSync(first, 'utf8').trim() === 'FROZEN',
      thaw: () => writeFileSync(first, 'THAWED'),
    };
  }
  if (!existsSync(second)) return undefined;
  return {
    group,
    freeze: () => writeFileSync(second, '1'),
    isFrozen: () => /^frozen 1$/m.test(readFileSync(join(group, 'cgroup.events'), 'utf8')),
    thaw: () => writeFileSync(second, '0'),
  };
}

/** A process that is killed while frozen runs no further instruction. */
function killFrozen({ group, freeze, isFrozen, thaw }: Freezer, survivor: number): void {
  do freeze();
  while (!isFrozen());
  try {
    for (const pid of processesBelow(group)) if (pid !== survivor) process.kill(pid, 'SIGKILL');
  } finally {
    thaw();
  }
}

function processesBelow(group: string): readonly number[] {
  const own = readFileSync(join(group, 'cgroup.procs'), 'utf8')
    .split('\n')
    .filter((pid) => Number(pid) > 0);
  return [...own.map(Number), ...childGroups(group).flatMap(processesBelow)];
}

interface Hierarchy {
  readonly mount: string;
  readonly path: string;
}

/** `<number>:<controllers>:<path>`; an empty list of controllers is the unified hierarchy. */
function hierarchies(): readonly Hierarchy[] {
  return readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
      if (controllers === undefined || path === undefined) return [];
      const folder = controllers === '' ? 'unified' : controllers.replace(/^name=/, '');
      const mount = join(ROOT, folder);
      return existsSync(mount) ? [{ mount, path }] : [];
    });
}

function removeTree(group: string): void {
  for (const below of childGroups(group)) removeTree(below);
  rmdirSync(group);
}

function childGroups(group: string): readonly string[] {
  if (!existsSync(group)) return [];
  return readdirSync(group, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(group, entry.name));
}
