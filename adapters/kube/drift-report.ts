/**
 * The drift report of a MachineConfigNode. The definition of the kind may be MCO's, which has no field for it, so it
 * is stored as the message of a condition: no annotation, because the server may write the status only.
 */

import { z } from 'zod';
import {
  DETAIL_LIMIT,
  DRIFT_KINDS,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  REPAIRS_REPORTED,
} from '../../core/drift';
import type { MachineConfigNode, MachineConfigNodeDrift } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import { field, ObjectName } from '../api-schemas/object-schemas';

const TYPE = 'DriftReport';

const Drift = z.object({
  config: ObjectName,
  count: z.int().min(0),
  findings: z
    .array(
      z.object({
        path: z.string().max(PATH_LIMIT),
        kind: z.enum(DRIFT_KINDS),
        detail: z.string().max(DETAIL_LIMIT),
        since: z.string(),
      }),
    )
    .max(FINDINGS_REPORTED),
  repairs: z
    .array(z.object({ path: z.string().max(PATH_LIMIT), at: z.string() }))
    .max(REPAIRS_REPORTED),
  forced: z.boolean(),
  unrepaired: field(z.string().max(DETAIL_LIMIT)),
});

/** @param drifted - the condition of the same report, for its transition time */
export function driftReport(drift: MachineConfigNodeDrift, drifted: Condition): Condition {
  const message = JSON.stringify(drift);
  return { ...drifted, type: TYPE, status: 'True', reason: 'Reported', message };
}

/** The report as `status.drift`. Whatever a person wrote there counts as none, so the next one replaces it. */
export function withDrift(known: MachineConfigNode): MachineConfigNode {
  const { conditions = [], ...status } = known.status ?? {};
  const report = conditions.find(({ type }) => type === TYPE);
  if (report === undefined) return known;
  const drift = readDrift(report.message);
  const others = conditions.filter((condition) => condition !== report);
  return {
    ...known,
    status: { ...status, conditions: others, ...(drift === undefined ? {} : { drift }) },
  };
}

function readDrift(text: string): MachineConfigNodeDrift | undefined {
  try {
    return Drift.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // no JSON
  }
}
