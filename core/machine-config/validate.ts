/**
 * MCO's checks of a single MachineConfig before rendering.
 *
 * @see MCO pkg/controller/common/helpers.go (7ff337a4), ValidateMachineConfig
 */

import { fail } from '../errors';
import { refuseSpecialModes, validateIgnition } from '../ignition';
import { refuseUnknownExtensions } from './extensions';
import type { Source } from './source';

export const KernelType = {
  DEFAULT: 'default',
  REALTIME: 'realtime',
  PAGES_64K: '64k-pages',
} as const;
export type KernelType = (typeof KernelType)[keyof typeof KernelType];

const KERNEL_TYPES: readonly string[] = ['', ...Object.values(KernelType)];

export function isKernelType(text: string): boolean {
  return KERNEL_TYPES.includes(text);
}

/**
 * As in MCO, extensions are checked only when there is a config.
 *
 * @throws InvalidMachineConfig, InvalidIgnition with MCO's words
 */
export function validateMachineConfig(source: Source): void {
  const { spec } = source.machineConfig;
  const kernelType = spec.kernelType ?? '';
  if (!isKernelType(kernelType)) {
    throw fail('InvalidMachineConfig', `kernelType=${kernelType} is invalid`);
  }
  if (source.raw === undefined) return;
  const parsed = source.parsed(source.raw);
  if (parsed.spec === 2) refuseSpecialModes(parsed.config);
  // A config of 3.5 passed these rules when it was parsed.
  else if (parsed.minor === 5) refuseSpecialModes(parsed.config);
  else validateIgnition(parsed.config);
  refuseUnknownExtensions(spec.extensions ?? []);
}
