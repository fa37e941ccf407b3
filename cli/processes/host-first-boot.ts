import { MACHINE_FLAGS } from '../../workers/host/flags';
import { runHostFirstBoot } from '../../workers/host/first-boot-program';
import type { ProcessCommand } from './process-command';

/** Loads no Temporal: it runs before the kubelet, once in the life of a machine. */
export const hostFirstBootCommand: ProcessCommand = {
  flags: MACHINE_FLAGS,
  run: (flags, environment, signal) => runHostFirstBoot(flags, signal, environment),
};
