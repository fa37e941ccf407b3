/**
 * Credentials for OS images: the machine's own, in the search order of rpm-ostree, bootc and
 * slipway-ostree; without those, a copy of the kubelet's.
 */

import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const OF_THIS_BOOT = 'run/ostree/auth.json';
const OF_THE_MACHINE = 'etc/ostree/auth.json';
const PLACES = [OF_THIS_BOOT, OF_THE_MACHINE, 'usr/lib/ostree/auth.json'];
const OF_THE_KUBELET = 'var/lib/kubelet/config.json';
/** Checksum of Slipway's copy. */
const LENT = 'run/slipway/ostree-auth.sha256';

/**
 * Undefined = images are pulled anonymously.
 *
 * @param root - the machine's root directory
 */
export async function registryCredentials(root: string): Promise<string | undefined> {
  await provideCredentials(root);
  for (const place of PLACES) {
    const path = join(root, place);
    if (await exists(path)) return path;
  }
  return undefined;
}

/**
 * Copies the kubelet's pull secret until the next boot, unless the machine has its own, and renews
 * the copy. The library of those programs follows no link out of its directory.
 *
 * @param root - the machine's root directory
 * @see MCO pkg/daemon (7ff337a4), which has the merged pull secret there for rpm-ostree
 */
export async function provideCredentials(root: string): Promise<void> {
  const secret = await read(join(root, OF_THE_KUBELET));
  if (secret === undefined || (await exists(join(root, OF_THE_MACHINE)))) return;
  const [path, mark] = [join(root, OF_THIS_BOOT), join(root, LENT)];
  const there = await read(path);
  if (there?.equals(secret)) return;
  if (there !== undefined && checksumOf(there) !== (await read(mark))?.toString('utf8')) return;
  await put(mark, checksumOf(secret));
  await put(path, secret);
}

/** Atomically; readable by root alone. */
async function put(path: string, content: Buffer | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  const temporary = `${path}.slipway`;
  await writeFile(temporary, content, { mode: 0o600 });
  await rename(temporary, path);
}

function checksumOf(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

async function read(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
