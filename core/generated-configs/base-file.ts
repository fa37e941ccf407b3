/**
 * Files that the machines of a pool come with: the ones in the MachineConfig `01-<pool>-<subject>`,
 * else in that of worker. What users set is merged into them. MCO takes them from its templates of
 * worker also for a custom pool that has its own, and so undoes what that one changes.
 *
 * @see MCO pkg/controller/kubelet-config/kubelet_config_controller.go (7ff337a4),
 *   generateOriginalKubeletConfigIgn
 */

import { decodeDataUrl } from '../encoding';
import { messageOf } from '../errors';
import type { RenderPorts } from '../ignition';
import { Source } from '../machine-config/source';
import type { IgnitionFile, MachineConfig } from '../machine-config/types';
import { BUILT_IN_POOLS } from '../names';
import { takesRole } from '../pool/roles';
import type { MachineConfigPool } from '../pool/types';

export interface BaseFile {
  readonly subject: 'kubelet' | 'container-runtime';
  readonly path: string;
}

interface BasePorts {
  readonly gunzip: RenderPorts['gunzip'];
  readonly configNamed: (name: string) => MachineConfig | undefined;
}

/** Pools of any other name are workers. */
export function roleOf(pool: string): string {
  return BUILT_IN_POOLS.includes(pool) ? pool : 'worker';
}

type Found = {
  /** Whether it is the pool's own MachineConfig that says so, and not that of worker. */
  readonly isOwn: boolean;
} & (
  | { readonly text: string }
  | {
      readonly problem: string;
      /** False = it is there, and cannot be read. */
      readonly isMissing: boolean;
    }
);

/** The text for the machines of a pool, or what is missing and how to add it. */
export function baseFile(
  pool: MachineConfigPool,
  { subject, path }: BaseFile,
  { gunzip, configNamed }: BasePorts,
): Found {
  const { name: poolName } = pool.metadata;
  const own = nameOf(poolName, subject);
  const names = namesOf(pool, subject, configNamed);
  for (const name of names) {
    const config = configNamed(name);
    const found = config && fileIn(config, path, gunzip);
    if (found === undefined) continue;
    const isOwn = name === own;
    if ('text' in found) return { ...found, isOwn };
    const problem = `machineconfig ${name}: ${path} cannot be read: ${found.problem}; correct it`;
    return { problem, isOwn, isMissing: false };
  }
  const last = names.at(-1) ?? own;
  const lacks =
    configNamed(last) === undefined ? ['is missing', 'create'] : [`has no file ${path}`, 'add'];
  const problem =
    `machineconfig ${last} ${lacks[0]}: it holds the file that the machines of pool ${poolName} ` +
    `come with, into which these settings are merged; ${lacks[1]} it`;
  return { problem, isOwn: last === own, isMissing: true };
}

function nameOf(pool: string, subject: BaseFile['subject']): string {
  return `01-${pool}-${subject}`;
}

/** The one that wins first. Nothing of worker is on machines of a pool that has all of its own. */
function namesOf(
  pool: MachineConfigPool,
  subject: BaseFile['subject'],
  configNamed: BasePorts['configNamed'],
): readonly string[] {
  const { name } = pool.metadata;
  const own = nameOf(name, subject);
  const ofWorker = nameOf('worker', subject);
  if (BUILT_IN_POOLS.includes(name)) return [own];
  if (!takesRole(pool, name)) return [ofWorker];
  if (takesRole(pool, 'worker')) return [own, ofWorker];
  return configNamed(own) === undefined ? [ofWorker, own] : [own];
}

/** Undefined = it has no such file, or one without contents. */
export function fileIn(
  config: MachineConfig,
  path: string,
  gunzip: RenderPorts['gunzip'],
): { readonly text: string } | { readonly problem: string } | undefined {
  try {
    const ignition = new Source(config, { gunzip }).ignition() as
      { readonly storage?: { readonly files?: readonly IgnitionFile[] } } | undefined;
    const file = ignition?.storage?.files?.find((one) => one.path === path);
    const source = file?.contents?.source;
    if (source === undefined) return undefined;
    const decoded = decodeDataUrl(source);
    if (decoded.error !== undefined) return { problem: decoded.error };
    const isPacked = file?.contents?.compression === 'gzip';
    const bytes = isPacked ? gunzip(decoded.bytes) : decoded.bytes;
    return { text: new TextDecoder().decode(bytes) };
  } catch (error) {
    return { problem: messageOf(error) };
  }
}
