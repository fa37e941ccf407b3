/**
 * An emulated machine with real firmware, boot loader and kernel, which write to its first serial
 * port; commands use the second one.
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
  /** Of firmware, boot loader, kernel, boot attempts. */
  readonly console: Lines;
  /** Successful boots. @throws Error with the last lines of the console */
  untilUp(count: number): Promise<void>;
  /** As root at the second serial port. @throws Error when it fails */
  output(command: string): Promise<string>;
  /** Does not wait: the machine may be gone before it answers. */
  type(command: string): void;
  powerOff(): Promise<void>;
}

export interface ComputerOptions {
  readonly directory: string;
  /** The machine's writes go to its directory. */
  readonly disk: string;
}

const MEMORY_MIB = 1024;
const SUCCEEDED = 'boot attempts: this boot succeeded';

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
    // A process that has run a kernel loads the next much more slowly.
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

/** Of a reset, by the flags below. */
const REBOOTED = 0;

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
