import { MACHINE_FLAGS, runHostSettle } from '../../host/settle/before-kubelet';
import type { ProcessCommand } from './process-command';

/** Loads no Temporal: it runs before the network is up. */
export const hostSettleCommand: ProcessCommand = {
  flags: MACHINE_FLAGS,
  run: (flags, environment, signal) => runHostSettle(flags, signal, environment),
};
