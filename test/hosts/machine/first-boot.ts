/**
 * Ignition fetches the config over the machine's own network and writes it to the deployment before
 * the system starts.
 */

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createEngine } from '../../../tools/ignition/engine';
import { execute } from '../execute';
import type { Machine } from './machine';
import { varOf } from './sysroot';

const PRESETS = 'etc/systemd/system-preset/20-ignition.preset';

/** @param pointer - Ignition config of the version that it names */
export async function firstBoot(machine: Machine, pointer: object): Promise<void> {
  const engine = await createEngine({
    work: join(dirname(machine.sysroot), 'ignition'),
    through: ['nsenter', `--net=${machine.network.namespace}`, '--'],
  });
  await engine.fetch(pointer);
  const root = await machine.deployment();
  const state = join(root, 'var');
  await execute('mount', ['--bind', varOf(machine.sysroot), state]);
  try {
    await engine.writeFiles(root);
    await applyPresets(root);
  } finally {
    await execute('umount', [state]);
  }
}

/** Only Ignition's presets: those of plain Debian would enable every installed unit. */
async function applyPresets(root: string): Promise<void> {
  const path = join(root, PRESETS);
  if (!existsSync(path)) return;
  const lines = (await readFile(path, 'utf8')).split('\n').filter((line) => line !== '');
  const units = lines.map((line) => line.split(' ')[1] ?? '');
  await execute('systemctl', [`--root=${root}`, 'preset', '--', ...units]);
}
