export { DEFAULT_DRIFT_POLICY, resolveDriftPolicy, type DriftPolicy } from './policy';
export { printable, printableWithin } from './printable';
export {
  DETAIL_LIMIT,
  DRIFT_KINDS,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  REPAIRS_REPORTED,
  UPDATER_LIMIT,
  UPDATERS_REPORTED,
  VERSION_LIMIT,
  type DriftAnswer,
  type DriftFinding,
  type DriftKind,
  type DriftRepair,
  type DriftReport,
} from './report';
export {
  mayRepairNow,
  placesIn,
  REPAIR_WINDOW,
  windowOf,
  type DriftedMember,
  type Places,
} from './repair-window';
export {
  driftAnnotations,
  driftCondition,
  driftDegradation,
  driftStatus,
  isDriftReason,
  isShown,
  type DriftStatus,
} from './status';
