import { z } from 'zod';
import { NAMESPACE } from '../../core/names';
import {
  BooleanSetting,
  type Environment,
  type Fragment,
  KubeFileSettings,
  ProcessSettings,
  readSettings,
  TemporalSettings,
} from '../../process/settings';

const count = z.coerce.number().int().positive();

/** Durations are seconds. */
export const ClusterWorkerSettings = z.object({
  ...TemporalSettings.shape,
  ...KubeFileSettings.shape,
  ...ProcessSettings.shape,
  /** Holds the key of orders. */
  namespace: z.string().min(1).default(NAMESPACE),
  /** Directory; absent = payloads are readable in Temporal. */
  payloadKeys: z.string().min(1).optional(),
  /** Without it, workflows are bundled from the sources. */
  workflowBundle: z.string().min(1).optional(),
  /** A drain is one long activity, and must not delay the short steps of other nodes. */
  maxActivities: count.default(2_000),
  maxWorkflowTasks: count.default(40),
  /** 0.15 MB each. */
  maxCachedWorkflows: count.default(1_500),
  maxKubeRequests: count.default(64),
  /** How long running activities may take to end at a stop. */
  shutdownGraceSeconds: z.coerce.number().int().min(0).default(20),
  /** Start although MCO runs on this cluster; for a supervised migration. */
  allowMco: BooleanSetting.default(false),
});
export type ClusterWorkerSettings = Readonly<z.infer<typeof ClusterWorkerSettings>>;

/** @throws SettingsError */
export function clusterWorkerSettings(
  flags: Fragment,
  environment: Environment,
): ClusterWorkerSettings {
  return readSettings(ClusterWorkerSettings, flags, environment);
}
