/**
 * Files that the machines of a role come with: the ones in the MachineConfig `01-<role>-<subject>`.
 * What users set is merged into them. MCO takes them from its templates, of which it writes these
 * MachineConfigs.
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

export interface BaseFile {
  readonly subject: 'kubelet' | 'container-runtime';
  readonly path: string;
}

interface BasePorts {
  readonly gunzip: RenderPorts['gunzip'];
  readonly configNamed: (name: string) => MachineConfig | undefined;
}

export function roleOf(pool: string): string {
  return BUILT_IN_POOLS.includes(pool) ? pool : 'worker';
}

/** The text for the machines of a pool, or what is missing and how to add it. */
export function baseFile(
  pool: string,
  { subject, path }: BaseFile,
  { gunzip, configNamed }: BasePorts,
): { readonly text: string } | { readonly problem: string } {
  const name = `01-${roleOf(pool)}-${subject}`;
  const config = configNamed(name);
  const fix = `it holds the file that the machines of pool ${pool} come with, into which these settings are merged`;
  if (config === undefined)
    return { problem: `machineconfig ${name} is missing: ${fix}; create it` };
  const found = fileIn(config, path, gunzip);
  if (found === undefined) {
    return { problem: `machineconfig ${name} has no file ${path}: ${fix}; add it` };
  }
  if ('text' in found) return found;
  return { problem: `machineconfig ${name}: ${path} cannot be read: ${found.problem}; correct it` };
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
