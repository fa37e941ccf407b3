/** One machine: disk, network, power and console. */

import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { withDeadline } from './deadline';
import { adoptChild } from '../../../tools/processes/watchdog';
import type { Lifetime } from '../lifetime';
import { createGroups } from './cgroups';
import { createLauncher, type Launcher } from './launcher';
import { createHostNetwork, type HostNetwork } from './network';
import { type BootEntry, bootEntries, makeSysroot, removeSysroot } from './sysroot';
import { realpath } from 'node:fs/promises';

interface CommandResult {
  readonly status: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Machine {
  readonly name: string;
  readonly sysroot: string;
  readonly network: HostNetwork;
  readonly launcher: Launcher;
  /** It boots next; a folder here. */
  deployment(): Promise<string>;
  entries(): Promise<readonly BootEntry[]>;
  /** As root at the console; fails while the machine is off. */
  run(...command: readonly string[]): Promise<CommandResult>;
  /** @throws Error when the command fails */
  output(...command: readonly string[]): Promise<string>;
  /** The host worker has logged, in this boot, a line with all of these texts. */
  untilLogged(...texts: readonly string[]): Promise<void>;
}

interface MachineOptions {
  readonly directory: string;
  readonly name: string;
  readonly number: number;
  readonly image: string;
  readonly kernelArguments: readonly string[];
}

export async function createMachine(lifetime: Lifetime, options: MachineOptions): Promise<Machine> {
  const { name, number, image } = options;
  const directory = join(options.directory, name);
  const sysroot = join(directory, 'sysroot');
  await lifetime.own(
    () => mkdir(sysroot, { recursive: true }),
    () => removeSysroot(sysroot),
  );
  await makeSysroot(sysroot, image, options.kernelArguments);
  const network = await createHostNetwork(lifetime, name, number);
  const groups = await lifetime.own(
    () => createGroups(groupName(options)),
    (created) => created.remove(),
  );
  const launcher = await lifetime.own(
    () => createLauncher({ name, directory, sysroot, network, groups }),
    (created) => created.cutPower(),
  );
  const entries = () => bootEntries(sysroot);
  const run = (...command: readonly string[]) => runInside(launcher.firstProcess(), command);
  return {
    name,
    sysroot,
    network,
    launcher,
    entries,
    run,
    deployment: async () => {
      const [next] = await entries();
      return realpath(next?.deployment ?? '');
    },
    output: async (...command) => {
      const result = await run(...command);
      if (result.status === 0) return result.out;
      throw new Error(
        `${name}: ${command.join(' ')} ended with ${result.status}: ${result.err || result.out}`,
      );
    },
    untilLogged: (...texts) => untilLogged(launcher.firstProcess(), texts),
  };
}

/** With the suite's folder, so that a later run can find out whose the groups were. */
function groupName({ directory, name }: MachineOptions): string {
  const run = /slipway-hosts-[A-Za-z0-9]+/.exec(directory)?.[0] ?? 'slipway-hosts';
  return `${run}-${name}`;
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/**
 * Stays outside of the machine's processes and reaps the command. An nsenter that forks would stop
 * with its child during shutdown, and a machine with unreaped processes never powers off.
 */
const OUTSIDE = `trap 'kill "$pid"' TERM; "$@" & pid=$!; wait "$pid"`;

function inside(pid: number, command: readonly string[]): readonly string[] {
  return [
    ...['--target', String(pid), '--mount', '--uts', '--ipc', '--net', '--pid', '--cgroup'],
    ...['--root', '--wd', '--no-fork', '--', '/bin/sh', '-c', OUTSIDE, 'sh'],
    ...['env', '-i', `PATH=${PATH}`, 'LC_ALL=C', ...command],
  ];
}

async function untilLogged(pid: number | undefined, texts: readonly string[]): Promise<void> {
  if (pid === undefined) throw new Error('a machine that is off logs nothing');
  const follow = ['journalctl', '--follow', '--boot', '--lines=all', '--output=cat'];
  const args = inside(pid, [...follow, '--unit=slipway-host.service']);
  const child = spawn('nsenter', args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const disown = child.pid === undefined ? () => undefined : adoptChild(child.pid);
  const line = `a line with ${texts.join(' and ')}`;
  const found = new Promise<void>((resolve, reject) => {
    createInterface(child.stdout).on('line', (text) => {
      if (texts.every((part) => text.includes(part))) resolve();
    });
    child.once('error', reject);
    child.once('exit', () => {
      disown();
      reject(new Error(`the log ended without ${line}`));
    });
  });
  try {
    await withDeadline(`the host worker logs ${line}`, found);
  } finally {
    child.kill();
  }
}

function runInside(pid: number | undefined, command: readonly string[]): Promise<CommandResult> {
  if (pid === undefined)
    return Promise.resolve({ status: null, out: '', err: 'the machine is off' });
  return new Promise((resolve, reject) => {
    const child = spawn('nsenter', inside(pid, command), { stdio: ['ignore', 'pipe', 'pipe'] });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
    child.once('error', reject);
    child.once('close', (status) => {
      resolve({
        status,
        out: Buffer.concat(out).toString(),
        err: Buffer.concat(err).toString(),
      });
    });
  });
}
