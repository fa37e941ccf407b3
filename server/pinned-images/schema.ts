/** What a host says of its pinned images. Undeclared fields are refused: they could hold what must not be stored. */

import { z } from 'zod';
import { printable } from '../../core/drift';
import { MOST_IMAGES, type PinnedReport, PROBLEM_LIMIT } from '../../core/pinned-images';

const Report = z.strictObject({
  given: z.exactOptional(z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256')),
  present: z.int().min(0).max(MOST_IMAGES),
  problem: z.exactOptional(z.string().min(1).max(PROBLEM_LIMIT).transform(printable)),
});

export const PINNED_REPORT_BYTES = 32 * 1024;

/** @returns every problem by field, when there are some */
export function readPinnedReport(
  body: unknown,
): { readonly report: PinnedReport } | { readonly problems: string } {
  const parsed = Report.safeParse(body);
  if (parsed.success) return { report: parsed.data };
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'body'}: ${message}`,
  );
  return { problems: problems.slice(0, 5).join('; ') };
}
