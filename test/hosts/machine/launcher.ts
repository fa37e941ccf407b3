/**
 * Stands in for firmware, boot loader and kernel: starts the deployment of the newest boot entry,
 * again after each reboot, and can cut the power.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { adoptChild } from '../../../tools/processes/watchdog';
import type { HostGroups } from './cgroups';
import { withDeadline } from './deadline';
import type { HostNetwork } from './network';
import { nextBoot, varOf } from './sysroot';

/** Of `systemd-nspawn --keep-unit`. */
const ASKED_TO_REBOOT = 133;

export interface LauncherOptions {
  readonly name: string;
  /** Outside the machine's disk: the command line, the console. */
  readonly directory: string;
  readonly sysroot: string;
  readonly network: HostNetwork;
  readonly groups: HostGroups;
}

export interface Launcher {
  boots(): number;
  /** As seen from here; undefined while the machine is off. */
  firstProcess(): number | undefined;
  /** Resolves when its first process runs. */
  powerOn(): Promise<void>;
  /** Everything ends at once; the machine stays off until it is turned on. */
  cutPower(): Promise<void>;
  readonly consoleFile: string;
  /** @throws Error on timeout */
  untilBoots(count: number): Promise<void>;
}

export function createLauncher(options: LauncherOptions): Launcher {
  const consoleFile = join(options.directory, 'console.log');
  let current: ChildProcess | undefined;
  let boots = 0;
  let isOn = false;
  let ended: Promise<void> = Promise.resolve();
  const waiting = new Set<() => void>();

  /** @returns how it ended; undefined = the power was cut before */
  const bootOnce = async (log: WriteStream): Promise<number | null | undefined> => {
    options.groups.sweep();
    await options.network.renew();
    const args = await bootArguments(options);
    // Cut between two boots: nothing may start.
    if (!isOn) return undefined;
    const child = start(options, args);
    current = child;
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    const disown = child.pid === undefined ? () => undefined : adoptChild(child.pid);
    const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
    boots += 1;
    for (const wake of waiting) wake();
    const status = await gone;
    disown();
    current = undefined;
    return status;
  };
  const run = async (): Promise<void> => {
    await mkdir(options.directory, { recursive: true });
    const log = createWriteStream(consoleFile, { flags: 'a' });
    try {
      for (;;) {
        const status = await bootOnce(log);
        log.write(status === undefined ? '-- no power\n' : `-- nspawn ended with ${status}\n`);
        if (status !== ASKED_TO_REBOOT || !isOn) return;
      }
    } finally {
      isOn = false;
      log.end();
    }
  };
  const firstProcess = (): number | undefined =>
    current?.pid === undefined ? undefined : childrenOf(current.pid)[0];
  const untilBoots = (count: number): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (boots < count) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  return {
    consoleFile,
    boots: () => boots,
    firstProcess,
    untilBoots: (count) => withDeadline(`${options.name} starts (${count})`, untilBoots(count)),
    powerOn: async () => {
      if (isOn) return;
      isOn = true;
      const before = boots;
      ended = run();
      await Promise.race([untilBoots(before + 1), ended]);
    },
    cutPower: async () => {
      isOn = false;
      const first = firstProcess();
      const nspawn = current?.pid;
      // nspawn waits for the last process inside, but not when it is killed.
      if (first !== undefined && nspawn !== undefined) options.groups.cut(nspawn);
      else current?.kill('SIGKILL');
      await ended;
    },
  };
}

/** As a boot loader reads them from the disk. */
async function bootArguments(options: LauncherOptions): Promise<readonly string[]> {
  const { name, sysroot, network, directory } = options;
  const entry = await nextBoot(sysroot);
  const deployment = await realpath(entry.deployment);
  const boot = join(directory, 'boot-loader');
  await mkdir(boot, { recursive: true });
  writeFileSync(join(boot, 'cmdline'), `${asGrubSaysIt(entry.options)}\n`);
  return [
    ...['--quiet', '--directory', deployment, '--boot', '--register=no', '--keep-unit'],
    ...[`--machine=${name}`, `--hostname=${name}`, '--link-journal=no'],
    ...[`--bind=${sysroot}:/sysroot:norbind`, `--bind=${sysroot}/boot:/boot`],
    ...[`--bind=${varOf(sysroot)}:/var`, `--bind-ro=${deployment}/usr:/usr`],
    ...[`--bind-ro=${boot}:/run/boot-loader`, '--bind=/dev/kmsg'],
    ...['--kill-signal=SIGRTMIN+3', '--console=pipe', '--resolv-conf=off', '--timezone=off'],
    ...['--capability=all', '--system-call-filter=@keyring bpf'],
    `--network-namespace-path=${network.namespace}`,
  ];
}

/** GRUB removes the quotes of each argument, and quotes one with blanks again. */
function asGrubSaysIt(options: string): string {
  const words = options.match(/(?:"[^"]*"|[^\s"])+/g) ?? [];
  const bare = words.map((word) => word.replaceAll('"', ''));
  return bare.map((word) => (word.includes(' ') ? `"${word}"` : word)).join(' ');
}

function start({ groups }: LauncherOptions, args: readonly string[]): ChildProcess {
  // nspawn makes the groups the machine's own.
  return spawn('/bin/sh', ['-c', `${groups.join} && exec systemd-nspawn "$@"`, 'sh', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    env: { PATH: process.env['PATH'] ?? '', SYSTEMD_LOG_LEVEL: 'info' },
  });
}

function childrenOf(pid: number): readonly number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter((text) => text !== '')
      .map(Number);
  } catch {
    return [];
  }
}
