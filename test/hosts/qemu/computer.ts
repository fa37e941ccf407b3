/**
 * A machine that is emulated down to its processor: firmware, boot loader and kernel are what a real one
 * has. Followed at its first serial port, where all of them speak, and used at its second one.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { adoptChild } from '../../../tools/processes/watchdog';
import { execute } from '../execute';
import { followLines, type Lines } from './lines';
import { listen } from './shell';

export interface Computer {
  /** What came out of the first serial port; firmware, boot loader, kernel and boot attempts. */
  readonly console: Lines;
  /** Resolves when that many boots have succeeded. @throws Error with what a console last said */
  untilUp(count: number): Promise<void>;
  /** Runs a command as root at the second serial port. @throws Error when it fails */
  output(command: string): Promise<string>;
  /** Types a command and does not wait: the machine may be gone before it answers. */
  type(command: string): void;
  /** Takes the power away. */
  powerOff(): Promise<void>;
}

export interface ComputerOptions {
  /** For the console, and for what the machine writes to its disk. */
  readonly directory: string;
  /** Stays as it is: what the machine writes is in its directory. */
  readonly disk: string;
}

const MEMORY_MIB = 1024;
const SUCCEEDED = 'boot attempts: this boot succeeded';

/** Turns it on. */
export async function startComputer({ directory, disk }: ComputerOptions): Promise<Computer> {
  await mkdir(directory, { recursive: true });
  const port = join(directory, 'shell');
  const written = join(directory, 'disk.raw');
  for (const left of [port, written]) await rm(left, { force: true });
  await execute('cp', ['--sparse=always', '--reflink=auto', disk, written]);
  const shell = await listen(port);
  const log = createWriteStream(join(directory, 'console.log'));
  const lines = followLines('the console');
  const hear = (line: string): void => {
    log.write(`${line}\n`);
    lines.add(line);
  };
  let isOn = true;
  let current: ChildProcess | undefined;
  const run = async (): Promise<void> => {
    // Each reboot is a new process: one that has run another kernel before loads the next much more slowly.
    while (isOn) {
      current = spawn('qemu-system-x86_64', hardware(written, port), {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      const how = await bootOnce(current, hear);
      if (how !== REBOOTED) isOn = false;
    }
  };
  const ended = run().finally(() => {
    shell.close();
    log.end();
    lines.end();
  });
  return {
    console: lines,
    untilUp: (count) => lines.untilCount(SUCCEEDED, count),
    type: (command) => shell.type(command),
    output: (command) => shell.output(command),
    powerOff: async () => {
      isOn = false;
      current?.kill('SIGKILL');
      await ended;
    },
  };
}

/** How the process ends when the machine resets, as it is told below to do. */
const REBOOTED = 0;

/** Follows a process until it has ended. @returns its status; undefined = it was killed, or never began */
async function bootOnce(
  machine: ChildProcess,
  hear: (line: string) => void,
): Promise<number | undefined> {
  const disown = machine.pid === undefined ? () => undefined : adoptChild(machine.pid);
  for (const stream of [machine.stdout, machine.stderr]) {
    if (stream !== null) createInterface(stream).on('line', hear);
  }
  const status = await new Promise<number | undefined>((resolve) => {
    machine.once('error', (error) => {
      hear(`the machine did not start: ${error.message}`);
      resolve(undefined);
    });
    // With all that it has said.
    machine.once('close', (code) => resolve(code ?? undefined));
  });
  disown();
  return status;
}

function hardware(disk: string, port: string): readonly string[] {
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', 'q35', '-accel', 'tcg', '-cpu', 'Nehalem', '-m', String(MEMORY_MIB)],
    ...['-drive', `file=${disk},format=raw,if=virtio,cache=unsafe`],
    ...['-device', 'virtio-rng-pci', '-serial', 'stdio'],
    ...['-chardev', `socket,id=shell,path=${port}`, '-serial', 'chardev:shell'],
  ];
}
