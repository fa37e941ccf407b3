import { HOST_WORKER_FLAGS, runHostWorker } from '../../workers/host/worker';
import type { ProcessCommand } from './process-command';

/** Loads no schema library and no Kubernetes client: this process runs on every machine. */
export const hostWorkerCommand: ProcessCommand = {
  flags: HOST_WORKER_FLAGS,
  run: (flags, environment, signal) => runHostWorker(flags, signal, environment),
};
