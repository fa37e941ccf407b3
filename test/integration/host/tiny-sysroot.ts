import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../../tools/binaries/run-program';

/** An ostree sysroot in a directory, with a repository and no deployment. It is not booted. */
export interface TinySysroot {
  readonly path: string;
  remove(): Promise<void>;
}

/** @throws Error without root: ostree changes owners and sets the immutable flag */
export async function createTinySysroot(): Promise<TinySysroot> {
  if (process.getuid?.() !== 0) throw new Error('ostree sysroots can only be made as root');
  const path = await mkdtemp(join(tmpdir(), 'slipway-sysroot-'));
  const ostree = (...words: readonly string[]) => run('ostree', words, process.env);
  await ostree('admin', 'init-fs', path);
  await ostree('admin', 'os-init', `--sysroot=${path}`, 'default');
  await ostree(`--repo=${path}/ostree/repo`, 'config', 'set', 'sysroot.bootloader', 'none');
  return {
    path,
    async remove() {
      const deployments = join(path, 'ostree/deploy');
      if (existsSync(deployments)) {
        // It fails on links, which have no such flag.
        await run('chattr', ['-R', '-f', '-i', deployments], process.env).catch(() => undefined);
      }
      await rm(path, { recursive: true });
    },
  };
}
