/**
 * Kernel arguments of deployments, from boot loader entries (Boot Loader Specification, type 1),
 * which need no daemon. A staged deployment has no entry yet.
 */

import { readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { splitKernelArguments } from '../../../core/os';

interface LoaderEntry {
  /** `CHECKSUM.SERIAL`, or the verity digest of a composefs. */
  readonly deployment: string;
  /** Without those that name the deployment. */
  readonly kernelArguments: readonly string[];
}

const ENTRIES = 'boot/loader/entries';
/** `…/ostree/deploy/STATEROOT/deploy/CHECKSUM.SERIAL` */
const DEPLOYMENT_DIRECTORY = /\/ostree\/deploy\/[^/]+\/deploy\/([0-9a-f]{64}\.\d+)$/;

/**
 * Skips entries that boot no deployment, such as rescue systems.
 *
 * @param root - the machine's root directory
 */
export async function readLoaderEntries(root: string): Promise<readonly LoaderEntry[]> {
  const names = await readdir(join(root, ENTRIES)).catch(ignoreAbsent);
  const entries = await Promise.all(
    names.filter((name) => name.endsWith('.conf')).map((name) => readEntry(root, name)),
  );
  return entries.filter((entry) => entry !== undefined);
}

async function readEntry(root: string, name: string): Promise<LoaderEntry | undefined> {
  const content = await readFile(join(root, ENTRIES, name), 'utf8');
  const words = kernelOptions(content);
  const deployment = await deploymentOf(root, words);
  if (deployment === undefined) return undefined;
  return { deployment, kernelArguments: withoutDeployment(words) };
}

/** The specification allows several `options` lines. */
export function kernelOptions(entry: string): readonly string[] {
  const lines = entry.split('\n').map((line) => line.trim());
  const options = lines.filter((line) => /^options\s/.test(line)).map((line) => line.slice(8));
  return splitKernelArguments(options);
}

export function withoutDeployment(words: readonly string[]): readonly string[] {
  return words.filter((word) => !/^(?:ostree|composefs)=/.test(word));
}

async function deploymentOf(root: string, words: readonly string[]): Promise<string | undefined> {
  const value = (key: string): string | undefined =>
    words.find((word) => word.startsWith(`${key}=`))?.slice(key.length + 1);
  const link = value('ostree');
  return link === undefined ? value('composefs') : deploymentBehind(root, link);
}

/** From `/ostree/boot.1/STATEROOT/BOOTCSUM/0`. */
async function deploymentBehind(root: string, link: string): Promise<string | undefined> {
  const target = await realpath(join(root, link)).catch(ignoreMissingTarget);
  return target === undefined ? undefined : DEPLOYMENT_DIRECTORY.exec(target)?.[1];
}

function ignoreAbsent(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** While ostree swaps its links, an entry may outlive its deployment. */
function ignoreMissingTarget(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
