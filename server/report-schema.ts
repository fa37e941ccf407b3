/** Undeclared fields are refused: they could hold what must not be stored. */

import { z } from 'zod';
import {
  DETAIL_LIMIT,
  DRIFT_KINDS,
  type DriftReport,
  FINDINGS_REPORTED,
  PATH_LIMIT,
  printable,
  REPAIRS_REPORTED,
  UPDATER_LIMIT,
  UPDATERS_REPORTED,
  VERSION_LIMIT,
} from '../core/drift';
import { OBJECT_NAME } from '../core/names';

/**
 * Terminals show the texts of a host, so only printable characters are kept. Refusing the report
 * would hide its drift.
 */
const text = (limit: number) => z.string().max(limit).transform(printable);
const instant = z.iso.datetime();

const Report = z.strictObject({
  version: z.exactOptional(text(VERSION_LIMIT)),
  config: z.string().regex(OBJECT_NAME, 'is not the name of a rendered config'),
  findings: z
    .array(
      z.strictObject({
        path: text(PATH_LIMIT),
        kind: z.enum(DRIFT_KINDS),
        detail: text(DETAIL_LIMIT),
        since: instant,
      }),
    )
    .max(FINDINGS_REPORTED),
  count: z.int().min(0).max(1_000_000),
  repairs: z.array(z.strictObject({ path: text(PATH_LIMIT), at: instant })).max(REPAIRS_REPORTED),
  forced: z.boolean(),
  unrepaired: z.exactOptional(text(DETAIL_LIMIT)),
  updaters: z.exactOptional(z.array(text(UPDATER_LIMIT)).min(1).max(UPDATERS_REPORTED)),
});

/** All field limits together stay below it. */
export const REPORT_BYTES = 256 * 1024;

/** @returns every problem by field, when there are some */
export function readReport(
  body: unknown,
): { readonly report: DriftReport } | { readonly problems: string } {
  const parsed = Report.safeParse(body);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(
      ({ path, message }) => `${path.join('.') || 'body'}: ${message}`,
    );
    return { problems: problems.slice(0, 5).join('; ') };
  }
  const { findings, count } = parsed.data;
  if (count < findings.length || (count > 0 && findings.length === 0)) {
    return { problems: 'count: does not fit the findings' };
  }
  return { report: parsed.data };
}
