/** Finds the kubelet of this machine, and starts it after settling. */

import { execFile } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type ConfigClientOptions, createMachineTree, realFile } from '../adapters/host';
import { messageOf } from '../core/errors';
import {
  findKubelet,
  type FoundKubelet,
  type KubeletPart,
  type KubeletSettings,
} from '../core/machine/kubelet';
import type { Log } from './log';

const run = promisify(execFile);

const SETTLE_UNIT = 'slipway-host-settle.service';
const TIMEOUT_MS = 120_000;

interface Looking {
  readonly node: string;
  readonly root: string;
  /** Settings that replace a search. */
  readonly kubelet: KubeletSettings;
}

/**
 * Looks at each call: before a machine has joined, certificate and unit may be missing. Logs
 * changes.
 */
export function kubeletFinder({ node, root, kubelet }: Looking, log: Log): () => FoundKubelet {
  let told = '';
  return () => {
    const found = lookForKubelet({ root, kubelet });
    const text = JSON.stringify(found);
    if (text === told) return found;
    told = text;
    const { missing, ...places } = found;
    warnOfOtherNode(node, found, log);
    if (Object.keys(missing).length === 0) log.info({ node, ...places }, 'kubelet found');
    else
      log.warn(
        { node, ...places, missing: Object.values(missing) },
        'kubelet not found yet; looked for when needed',
      );
    return found;
  };
}

/** Found files are named as this process reaches them; files that a person named stay. */
export function lookForKubelet({ root, kubelet }: Pick<Looking, 'root' | 'kubelet'>): FoundKubelet {
  const found = findKubelet(createMachineTree(root), kubelet);
  if (root === '/') return found;
  const reached = (path: string, named: string | undefined): string =>
    named === path ? path : (realFile(root, path) ?? `${root}${path}`);
  return {
    ...found,
    certificateFile: reached(found.certificateFile, kubelet.certificateFile),
    keyFile: reached(found.keyFile, kubelet.keyFile ?? kubelet.certificateFile),
    authorityFile: reached(found.authorityFile, kubelet.authorityFile),
  };
}

function warnOfOtherNode(node: string, found: FoundKubelet, log: Log): void {
  try {
    const reason = otherNode(node, found);
    if (reason !== undefined) log.error({ node, reason }, 'certificate of another node');
  } catch (error) {
    log.warn({ node, reason: messageOf(error) }, 'certificate of the kubelet cannot be read');
  }
}

const OF_A_NODE = /^CN=system:node:(.+)$/m;

/**
 * The node's certificate has another name than the settings; a sentence. A missing certificate is
 * no problem.
 *
 * @throws an Error that names the file when it is unreadable
 */
export function otherNode(
  node: string,
  { certificateFile }: Pick<FoundKubelet, 'certificateFile'>,
): string | undefined {
  if (!existsSync(certificateFile)) return undefined;
  const named = OF_A_NODE.exec(subjectOf(certificateFile))?.[1];
  if (named === undefined || named === node) return undefined;
  return `node: the settings name this machine ${node}, but its certificate ${certificateFile} is of node ${named}; set node to ${named}`;
}

function subjectOf(file: string): string {
  try {
    return new X509Certificate(readFileSync(file)).subject;
  } catch (error) {
    throw new Error(`${file} is no certificate: ${messageOf(error)}`, { cause: error });
  }
}

/** Looks for the kubelet at each use, and fails with what is missing. */
export class KubeletEndpoint implements ConfigClientOptions {
  constructor(
    readonly url: string,
    private readonly find: () => FoundKubelet,
    readonly learnedAuthorityFile: string,
  ) {}

  get certificateFile(): string {
    return this.file('certificateFile', 'certificateFile');
  }

  get keyFile(): string {
    return this.file('keyFile', 'certificateFile');
  }

  get authorityFile(): string {
    return this.file('authorityFile', 'authorityFile');
  }

  private file(name: 'certificateFile' | 'keyFile' | 'authorityFile', part: KubeletPart): string {
    const found = this.find();
    const missing = found.missing[part];
    if (missing !== undefined) throw new Error(missing);
    return found[name];
  }
}

/**
 * After settling: restarts the program before the kubelet if it had failed, and then an enabled
 * kubelet. Never throws.
 *
 * @param kubelet - its unit; undefined = none was found
 */
export async function startWhatWaited(
  kubelet: string | undefined,
  log: Log,
  command = 'systemctl',
): Promise<void> {
  const systemctl = (...words: readonly string[]): Promise<unknown> =>
    run(command, [...words], { timeout: TIMEOUT_MS });
  const holds = (...words: readonly string[]): Promise<boolean> =>
    systemctl(...words).then(
      () => true,
      () => false,
    );
  if (!(await holds('is-failed', '--quiet', SETTLE_UNIT))) return;
  try {
    await systemctl('start', SETTLE_UNIT);
    if (kubelet === undefined || !(await holds('is-enabled', '--quiet', kubelet))) return;
    await systemctl('start', '--no-block', kubelet);
    log.warn({ unit: kubelet }, 'settled after all, kubelet started');
  } catch (error) {
    log.error({ reason: messageOf(error) }, 'kubelet waits for a program that fails');
  }
}
