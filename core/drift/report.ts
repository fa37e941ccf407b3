/** A host's drift report and its answer. Names and modes, never contents. */

import type { NodeDisruptionPolicy } from '../disruption/types';
import type { DriftPolicy } from './policy';

export const DRIFT_KINDS = [
  'mode',
  'content',
  /** A file or a mask that should be there. */
  'missing',
  /** A file or a mask that should not be there. */
  'unexpected',
  /** A directory, link or device where a file should be. */
  'type',
  /** Enabled or disabled against the config. */
  'unit',
  /** Image, kernel arguments, kernel or extensions. */
  'os',
  /** Unknown, because it cannot be read. */
  'unreadable',
] as const;
export type DriftKind = (typeof DRIFT_KINDS)[number];

export interface DriftFinding {
  /** Path on the host; the name of the unit for `unit`; empty for `os`. */
  readonly path: string;
  readonly kind: DriftKind;
  readonly detail: string;
  /** RFC 3339: when this host first saw it. */
  readonly since: string;
}

export interface DriftRepair {
  readonly path: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface DriftReport {
  /** Of the host worker; absent = it did not say. */
  readonly version?: string;
  readonly config: string;
  /** The first `FINDINGS_REPORTED`, by path. */
  readonly findings: readonly DriftFinding[];
  readonly count: number;
  /** The latest `REPAIRS_REPORTED`, newest last. */
  readonly repairs: readonly DriftRepair[];
  /** The force file exists: the next update writes everything again and reboots. */
  readonly forced: boolean;
  /** Why something was not repaired although the policy says Repair. */
  readonly unrepaired?: string;
  /** Programs beside Slipway that would update or reboot the machine, at most `UPDATERS_REPORTED`; absent = none. */
  readonly updaters?: readonly string[];
}

/** Valid until the host reports again. */
export interface DriftAnswer {
  readonly drift: DriftPolicy;
  /** The cluster's own disruption policies; the host adds the defaults. */
  readonly disruptionPolicies: NodeDisruptionPolicy;
  /** Whether a repair may reload or restart services now (`mayDisturb`), for `REPAIR_WINDOW.begun` after the report. */
  readonly mayDisturb: boolean;
}

/** The list is stored for every node, and nobody reads a longer one in a status. */
export const FINDINGS_REPORTED = 20;
export const REPAIRS_REPORTED = 10;
export const UPDATERS_REPORTED = 10;
/** Longer paths and sentences are cut by the host and refused by the server. */
export const PATH_LIMIT = 512;
export const DETAIL_LIMIT = 1024;
/** For the name of an updater, which may be that of a unit. */
export const UPDATER_LIMIT = 256;
export const VERSION_LIMIT = 64;
