/** What a check is given and where its findings go. */

import type { Findings } from './findings';
import type { OfflineView } from './offline-view';

/**
 * Whether pools may select MachineConfigs that are not among the manifests: `none`, so that a pool without any is
 * an error; `unknown`, so that it is a warning; `elsewhere`, so that nothing can be said to be missing.
 */
export type Rest = 'none' | 'unknown' | 'elsewhere';

export interface OfflineCheck {
  readonly view: OfflineView;
  /** Of the controllers that will render the same in the cluster. */
  readonly version: string;
  readonly findings: Findings;
  /** False = some manifests cannot be read, so that nothing can be said to be missing. */
  readonly isComplete: boolean;
  readonly rest: Rest;
}
