import { MACHINE_FLAGS } from '../../workers/host/flags';
import { runHostSettle } from '../../workers/host/settle-program';
import type { ProcessCommand } from './process-command';

/** Loads no Temporal: it runs before the network is up. */
export const hostSettleCommand: ProcessCommand = {
  flags: MACHINE_FLAGS,
  run: (flags, environment, signal) => runHostSettle(flags, signal, environment),
};
