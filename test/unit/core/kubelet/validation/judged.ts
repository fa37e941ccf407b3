/** Rules, each refused once and accepted at its edge. */

import type { FieldProblem } from '../../../../../core/field-problem';
import { kubeletProblems, type ReservationsBeside } from '../../../../../core/kubelet/validation';

type Document = Readonly<Record<string, unknown>>;

export interface Row {
  /** A difference makes two rows of one field. */
  readonly about: string;
  readonly refused: Document;
  /** Keys joined with points. */
  readonly at: string;
  readonly says: string;
  readonly fix?: string;
  readonly accepted: Document;
  readonly beside?: ReservationsBeside;
}

export function judged(rows: readonly Row[]): void {
  it.each(rows)('refuses $about', ({ refused, at, says, fix, beside }) => {
    const [first, ...others] = kubeletProblems(refused, beside);

    expect(others).toEqual([]);
    expect(shownAs(first)).toEqual({ at, says });
    if (fix !== undefined) expect(first?.fix).toBe(fix);
    expect(first?.fix).toMatch(/\S/);
  });

  it.each(rows)('accepts the edge of $about', ({ accepted, beside }) => {
    expect(kubeletProblems(accepted, beside)).toEqual([]);
  });
}

export function shownAs(
  problem: FieldProblem | undefined,
): { readonly at: string; readonly says: string } | undefined {
  return problem && { at: problem.path.join('.'), says: problem.problem };
}
