import type { Findings } from './findings';
import type { OfflineView } from './offline-view';
import type { Rest } from './rest';

export interface OfflineCheck {
  readonly view: OfflineView;
  /** Of the controllers in the cluster. */
  readonly version: string;
  readonly findings: Findings;
  /** False = some manifests cannot be read: nothing is reported as missing. */
  readonly isComplete: boolean;
  readonly rest: Rest;
}
