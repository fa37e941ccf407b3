/**
 * What the host of a MachineConfigNode last reported. The definition of the kind may be MCO's, which has no field for
 * it, so it is stored as the message of a condition: no annotation, because the server may write the status only.
 */

import { z } from 'zod';
import {
  DETAIL_LIMIT,
  DRIFT_KINDS,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  REPAIRS_REPORTED,
  VERSION_LIMIT,
} from '../../core/drift';
import type { MachineConfigNode } from '../../core/node/types';
import type { Condition } from '../../core/object-meta';
import { field, ObjectName } from '../api-schemas/object-schemas';

const TYPE = 'HostReport';

/** `status.drift`, and with it the version of the host worker. */
const Report = z.object({
  version: field(z.string().max(VERSION_LIMIT)),
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

type Reported = Pick<NonNullable<MachineConfigNode['status']>, 'drift' | 'hostWorker'>;

/** @param drifted - the condition of the same report, for its transition time */
export function hostReport({ drift, hostWorker }: Reported, drifted: Condition): Condition {
  const message = JSON.stringify({ ...hostWorker, ...drift });
  return { ...drifted, type: TYPE, status: 'True', reason: 'Reported', message };
}

/** The report as fields of the status. Whatever a person wrote there counts as none, so the next one replaces it. */
export function withReport(known: MachineConfigNode): MachineConfigNode {
  const { conditions = [], ...status } = known.status ?? {};
  const report = conditions.find(({ type }) => type === TYPE);
  if (report === undefined) return known;
  const others = conditions.filter((condition) => condition !== report);
  return { ...known, status: { ...status, conditions: others, ...readReport(report.message) } };
}

function readReport(text: string): Reported {
  try {
    const { version, ...drift } = Report.parse(JSON.parse(text));
    return { drift, ...(version === undefined ? {} : { hostWorker: { version } }) };
  } catch {
    return {}; // no report
  }
}
