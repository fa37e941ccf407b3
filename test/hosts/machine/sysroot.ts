/** An ostree sysroot in a folder, as an installer leaves it. */

import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ensureRustProgram } from '../../../tools/binaries/rust-programs';
import { execute } from '../execute';

export const OS_NAME = 'slipway';

export interface BootEntry {
  readonly version: number;
  readonly file: string;
  readonly options: string;
  /** It boots next; a folder of this machine. */
  readonly deployment: string;
}

export async function makeSysroot(
  directory: string,
  image: string,
  kernelArguments: readonly string[],
): Promise<void> {
  await mkdir(directory, { recursive: true });
  await execute('ostree', ['admin', 'init-fs', directory]);
  await execute('ostree', ['admin', 'os-init', `--sysroot=${directory}`, OS_NAME]);
  const repository = `--repo=${directory}/ostree/repo`;
  await execute('ostree', [repository, 'config', 'set', 'sysroot.bootloader', 'none']);
  await execute(await ensureRustProgram('ostree-ext-cli'), [
    ...['container', 'image', 'deploy', '--sysroot', directory, '--stateroot', OS_NAME],
    ...kernelArguments.flatMap((argument) => ['--karg', argument]),
    ...['--imgref', `ostree-unverified-registry:${image}`],
  ]);
}

/** The entry with the highest version. */
export async function nextBoot(sysroot: string): Promise<BootEntry> {
  const entries = await bootEntries(sysroot);
  const [first] = entries;
  if (first === undefined) throw new Error(`${sysroot} has no entry for its boot loader`);
  return first;
}

/** The one that boots first comes first. */
export async function bootEntries(sysroot: string): Promise<readonly BootEntry[]> {
  const folder = join(sysroot, 'boot/loader/entries');
  const entries = await Promise.all(
    (await readdir(folder)).map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      const options = /^options (.*)$/m.exec(text)?.[1] ?? '';
      const path = /(?:^| )ostree=(\S+)/.exec(options)?.[1];
      const version = Number(/^version (\d+)$/m.exec(text)?.[1] ?? 0);
      if (path === undefined) throw new Error(`${join(folder, file)} names no deployment`);
      return { version, file, options, deployment: join(sysroot, path) };
    }),
  );
  return entries.sort((a, b) => b.version - a.version);
}

export function varOf(sysroot: string): string {
  return join(sysroot, 'ostree/deploy', OS_NAME, 'var');
}

/** A plain removal would stop at immutable deployments. */
export async function removeSysroot(sysroot: string): Promise<void> {
  if (existsSync(join(sysroot, 'ostree/deploy'))) {
    await execute('chattr', ['-R', '-f', '-i', join(sysroot, 'ostree/deploy')]).catch(() => '');
  }
  await rm(sysroot, { recursive: true, force: true });
}
