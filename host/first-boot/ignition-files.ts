/**
 * Files from Ignition: the name of the config, and the part that Ignition cannot apply. Paths and
 * formats are MCO's.
 *
 * @see MCO pkg/daemon/constants/constants.go (7ff337a4)
 */

import { fail } from '../../core/errors';
import { FIRST_BOOT_FILE } from '../../core/first-boot';
import { canonicalConfig } from '../../core/machine-config/canonical';
import type { RenderedSpec } from '../../core/machine-config/types';
import { ANNOTATION } from '../../core/names';
import { ROOT_OWNER } from '../../adapters/host';
import type { Files } from '../ports';
import { type HostConfig, isRecord, readUnordered, writePrivate } from '../records/configs';

export const FIRST_BOOT_PLACES = {
  /** Exists until the first boot is complete. */
  ENCAPSULATED: FIRST_BOOT_FILE.ENCAPSULATED_CONFIG,
  SERVED: FIRST_BOOT_FILE.SERVED_CONFIG,
  ANNOTATIONS: FIRST_BOOT_FILE.NODE_ANNOTATIONS,
} as const;

const DONE_PLACES = {
  [FIRST_BOOT_PLACES.ENCAPSULATED]: `${FIRST_BOOT_PLACES.ENCAPSULATED}.bak`,
  [FIRST_BOOT_PLACES.ANNOTATIONS]: '/etc/machine-config-daemon/node-annotation.json.bak',
} as const;

export interface FirstConfig {
  /** The config that the first boot applies. */
  readonly config: HostConfig;
  /**
   * As in the cluster, without the kernel arguments that the server took out of its Ignition
   * config. The machine is on it afterwards.
   */
  readonly rendered: HostConfig;
}

/**
 * Undefined = no first boot is to be completed.
 *
 * @throws `ApplyFailed` naming the missing or damaged file, or both names when they differ
 */
export async function readFirstConfig(files: Files): Promise<FirstConfig | undefined> {
  const { ENCAPSULATED, SERVED } = FIRST_BOOT_PLACES;
  if ((await files.facts(ENCAPSULATED)).kind === 'absent') return undefined;
  const encapsulated = await readObject(files, ENCAPSULATED);
  const served = await readObject(files, SERVED);
  if (encapsulated.name !== served.name) {
    throw damaged(SERVED, `is of ${served.name}, but ${ENCAPSULATED} is of ${encapsulated.name}`);
  }
  const spec = served.spec as RenderedSpec;
  const config = configOf(served.name, spec);
  if (served.moved === 0) return { config, rendered: config };
  const kernelArguments = config.spec.kernelArguments.slice(0, -served.moved);
  return { config, rendered: configOf(served.name, { ...spec, kernelArguments }) };
}

/** @throws `ApplyFailed` when it is no valid config */
function configOf(name: string, spec: RenderedSpec): HostConfig {
  const bytes = Buffer.from(canonicalConfig({ metadata: { name }, spec }));
  try {
    return readUnordered(bytes, name);
  } catch (error) {
    throw Object.assign(damaged(FIRST_BOOT_PLACES.SERVED, 'is not a MachineConfig'), {
      cause: error,
    });
  }
}

/** Afterwards only root reads files with secrets, and the first boot is complete. */
export async function closeFirstBoot(files: Files): Promise<void> {
  const served = await files.look(FIRST_BOOT_PLACES.SERVED);
  if (served.kind === 'file' && served.mode !== 0o600) {
    await writePrivate(files, FIRST_BOOT_PLACES.SERVED, served.content.toString('utf8'));
  }
  // The file that decides goes last: a crash before repeats everything.
  for (const from of [FIRST_BOOT_PLACES.ANNOTATIONS, FIRST_BOOT_PLACES.ENCAPSULATED] as const) {
    const state = await files.look(from);
    if (state.kind !== 'file') continue;
    const { content, mode } = state;
    await files.writeFile(DONE_PLACES[from], { content, mode, owner: ROOT_OWNER });
    await files.remove(from);
  }
}

async function readObject(
  files: Files,
  path: string,
): Promise<{ readonly name: string; readonly spec: unknown; readonly moved: number }> {
  const state = await files.look(path);
  if (state.kind !== 'file') throw damaged(path, 'is missing');
  let value: unknown;
  try {
    value = JSON.parse(state.content.toString('utf8'));
  } catch (error) {
    throw Object.assign(damaged(path, 'is not JSON'), { cause: error });
  }
  const metadata = isRecord(value) ? value['metadata'] : undefined;
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  const spec = isRecord(value) ? value['spec'] : undefined;
  if (typeof name !== 'string' || name === '' || !isRecord(spec)) {
    throw damaged(path, 'is not a MachineConfig');
  }
  return { name, spec, moved: movedIn(metadata) };
}

/** Kernel arguments that the rendered config does not have. */
function movedIn(metadata: unknown): number {
  const annotations = isRecord(metadata) ? metadata['annotations'] : undefined;
  const count = isRecord(annotations) ? annotations[ANNOTATION.MOVED_KERNEL_ARGUMENTS] : undefined;
  return typeof count === 'string' && /^\d{1,4}$/.test(count) ? Number(count) : 0;
}

function damaged(path: string, what: string): Error {
  return fail(
    'ApplyFailed',
    `${path} ${what}; provision the machine anew, or remove ${FIRST_BOOT_PLACES.ENCAPSULATED} when it is as it should be`,
    { path },
  );
}
