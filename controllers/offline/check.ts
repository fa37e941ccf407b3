import type { Findings } from './findings';
import type { OfflineView } from './offline-view';

/**
 * MachineConfigs outside the manifests. `none`: a pool without any is an error; `unknown`: a
 * warning. `elsewhere`: nothing is reported as missing.
 */
export type Rest = 'none' | 'unknown' | 'elsewhere';

export interface OfflineCheck {
  readonly view: OfflineView;
  /** Of the controllers in the cluster. */
  readonly version: string;
  readonly findings: Findings;
  /** False = some manifests cannot be read: nothing is reported as missing. */
  readonly isComplete: boolean;
  readonly rest: Rest;
}
