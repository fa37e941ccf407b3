import { MACHINE_FLAGS, runHostSettle } from '../../host/settle/before-kubelet';
import type { ProcessCommand } from './process-command';

/** Loads no Temporal either: it runs before the network is there. */
export const hostSettleCommand: ProcessCommand = {
  flags: MACHINE_FLAGS,
  run: (flags, environment, signal) => runHostSettle(flags, signal, environment),
};
