/** What a host says about its drift, and what it is answered. Names and modes, never contents. */

import type { NodeDisruptionPolicy } from '../disruption/types';
import type { DriftPolicy } from './policy';

/** How something on a host differs from the config that it is on. */
export const DRIFT_KINDS = [
  /** Permission bits. */
  'mode',
  /** The bytes of a file. */
  'content',
  /** A file or a mask that should be there. */
  'missing',
  /** A file or a mask that should not. */
  'unexpected',
  /** A directory, link or device where a file should be. */
  'type',
  /** Enabled or disabled against the config. */
  'unit',
  /** Image, kernel arguments, kernel or extensions. */
  'os',
  /** Nobody can tell, because it cannot be read. */
  'unreadable',
] as const;
export type DriftKind = (typeof DRIFT_KINDS)[number];

/** One thing that differs. */
export interface DriftFinding {
  /** Path on the host; the name of the unit for `unit`; empty for `os`. */
  readonly path: string;
  readonly kind: DriftKind;
  /** A sentence in MCO's words. */
  readonly detail: string;
  /** RFC 3339: when this host first saw it. */
  readonly since: string;
}

/** One path that the host has rewritten. */
export interface DriftRepair {
  readonly path: string;
  /** RFC 3339. */
  readonly at: string;
}

/** The state of one host; the whole of it each time. */
export interface DriftReport {
  /** Rendered config that the host is on. */
  readonly config: string;
  /** The first `FINDINGS_REPORTED`, by path. */
  readonly findings: readonly DriftFinding[];
  /** All of them. */
  readonly count: number;
  /** The latest `REPAIRS_REPORTED`, newest last. */
  readonly repairs: readonly DriftRepair[];
  /** The force file is there: the next update writes everything again and reboots. */
  readonly forced: boolean;
  /** Why something was not repaired although the policy says Repair. */
  readonly unrepaired?: string;
  /** Programs beside Slipway that would update or reboot the machine, at most `UPDATERS_REPORTED`; absent = none. */
  readonly updaters?: readonly string[];
}

/** What the host goes by until it reports again. */
export interface DriftAnswer {
  readonly drift: DriftPolicy;
  /** The cluster's own disruption policies; the defaults are added on the host. */
  readonly disruptionPolicies: NodeDisruptionPolicy;
  /** Whether a repair may reload or restart services now (`mayDisturb`), for `TURN.begun` after the report. */
  readonly mayDisturb: boolean;
}

/** More than this nobody reads in a status, and every one is stored for every node. */
export const FINDINGS_REPORTED = 20;
export const REPAIRS_REPORTED = 10;
export const UPDATERS_REPORTED = 10;
/** Longer paths and sentences are cut by the host and refused by the server. */
export const PATH_LIMIT = 512;
export const DETAIL_LIMIT = 1024;
/** Of the name of an updater, which may be that of a unit. */
export const UPDATER_LIMIT = 256;
