/**
 * For package-based distributions: files, units and keys are applied; OS changes are refused by
 * name.
 */

import { readFile } from 'node:fs/promises';
import { fail } from '../../../core/errors';
import { splitKernelArguments } from '../../../core/os';
import type { OsStatus } from './os-status';
import type { OsDriver } from './driver';

const REASON = 'the driver "none" does not change the operating system';

function refuse(what: string): Promise<never> {
  return Promise.reject(fail('Unreconcilable', `${what}: ${REASON}`));
}

export function createNoneDriver(procDirectory = '/proc'): OsDriver {
  return {
    name: 'none',
    managesOs: false,
    lacks: {
      image: REASON,
      kernelArguments: REASON,
      extensions: REASON,
      kernelType: REASON,
      lock: REASON,
    },
    async status(): Promise<OsStatus> {
      const bootId = await readFile(`${procDirectory}/sys/kernel/random/boot_id`, 'utf8');
      const commandLine = await readFile(`${procDirectory}/cmdline`, 'utf8');
      return {
        bootId: bootId.trim(),
        booted: {
          id: 'none',
          kernelArguments: splitKernelArguments([commandLine.trim()]),
          extensions: [],
          kernelType: 'default',
        },
      };
    },
    checkImage: (image) => refuse(`stage OS image ${image}`),
    stage: (image) => refuse(`stage OS image ${image}`),
    setKernelArguments: () => refuse('set kernel arguments'),
    setExtensions: () => refuse('set extensions'),
    setKernelType: (type) => refuse(`set kernel type ${type}`),
    // Nothing is ever staged.
    finalize: async (): Promise<void> => undefined,
    discard: async (): Promise<void> => undefined,
    rollback: async (): Promise<void> => undefined,
    cleanUp: async (): Promise<void> => undefined,
  };
}
