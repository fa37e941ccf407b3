/** What a host says of its bundle. Undeclared fields are refused: they could hold what must not be stored. */

import { z } from 'zod';
import { PATH_LIMIT, printable } from '../../core/drift';
import { type BundleReport, LEFT_REPORTED, PROBLEM_LIMIT } from '../../core/host-bundle';

const digest = z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256');

const Report = z.strictObject({
  digest: z.exactOptional(digest),
  given: z.exactOptional(digest),
  problem: z.exactOptional(z.string().min(1).max(PROBLEM_LIMIT).transform(printable)),
  leftToConfig: z.exactOptional(
    z.array(z.string().max(PATH_LIMIT).transform(printable)).max(LEFT_REPORTED),
  ),
});

export const BUNDLE_REPORT_BYTES = 64 * 1024;

/** @returns every problem by field, when there are some */
export function readBundleReport(
  body: unknown,
): { readonly report: BundleReport } | { readonly problems: string } {
  const parsed = Report.safeParse(body);
  if (parsed.success) return { report: parsed.data };
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'body'}: ${message}`,
  );
  return { problems: problems.slice(0, 5).join('; ') };
}
