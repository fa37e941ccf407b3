import { runClusterWorker } from '../../workers/cluster/worker';
import { ClusterWorkerSettings, clusterWorkerSettings } from '../../workers/cluster/settings';
import type { ProcessCommand } from './process-command';
import { flagsOfSchema } from './schema-flags';

export const clusterWorkerCommand: ProcessCommand = {
  flags: flagsOfSchema(ClusterWorkerSettings),
  run: (flags, environment, signal) =>
    runClusterWorker(clusterWorkerSettings(flags, environment), signal),
};
