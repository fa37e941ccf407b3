/** The kubelet's own code gives the same verdicts on values, over thousands of configurations. */

import type { FieldProblem } from '../../../core/field-problem';
import { kubeletProblems } from '../../../core/kubelet/validation';
import { FEATURE_GATES } from '../../../core/kubelet/validation/feature-gates';
import { type Case, drawnDocuments, singleFields } from './documents';
import { knownGates, type Refusal, refusalsOf } from './verdicts';

// The program may have to be built.
jest.setTimeout(15 * 60_000);

const problemsOf = ({ document, systemReserved }: Case): readonly FieldProblem[] =>
  kubeletProblems(document, systemReserved === undefined ? {} : { systemReserved });

/** Cases on whose verdict both do not agree, for a person to read. */
function disagreements(
  cases: readonly Case[],
  answers: readonly (readonly Refusal[])[],
): readonly string[] {
  return cases.flatMap((one, i) => {
    const refusals = answers[i] ?? [];
    const problems = problemsOf(one);
    if (refusals.length > 0 === problems.length > 0) return [];
    if (problems.length === 0 && refusals.every((refusal) => onlyTheMachineKnows(one, refusal))) {
      return [];
    }
    return [JSON.stringify({ ...one, refusals, problems })];
  });
}

/** The program judges for a machine with its own memory, of which a percentage is taken. */
function onlyTheMachineKnows({ document }: Case, { check, message }: Refusal): boolean {
  const hard = JSON.stringify(document['evictionHard'] ?? {});
  return check === 'memoryManager' && hard.includes('%') && /not equal to the value/.test(message);
}

describe('verdicts of the kubelet', () => {
  const singles = singleFields();
  let singleAnswers: Awaited<ReturnType<typeof refusalsOf>> = [];
  beforeAll(async () => {
    singleAnswers = await refusalsOf(singles);
  });

  it('agree on every value of every field', () => {
    expect(disagreements(singles, singleAnswers)).toEqual([]);
  });

  it('name the same field', () => {
    const elsewhere = singles.filter((one, i) => {
      const field = one.field?.split('.')[0] ?? '';
      const refused = (singleAnswers[i] ?? []).length > 0;
      return refused && !problemsOf(one).some(({ path }) => path[0] === field);
    });
    expect(elsewhere.map((one) => JSON.stringify({ ...one, problems: problemsOf(one) }))).toEqual(
      [],
    );
  });

  it.each([1, 2])('agree on several fields, seed %i', async (seed) => {
    const cases = drawnDocuments(seed, 2000);

    const answers = await refusalsOf(cases);

    expect(disagreements(cases, answers)).toEqual([]);
    const refused = answers.filter((refusals) => refusals.length > 0).length;
    expect(refused).toBeGreaterThan(400);
    expect(refused).toBeLessThan(1900);
  });

  it('agree on every feature gate', async () => {
    const cases = [...FEATURE_GATES.keys()].flatMap((name): readonly Case[] =>
      [true, false].map((value) => ({ document: { featureGates: { [name]: value } } })),
    );

    const answers = await refusalsOf(cases);

    expect(disagreements(cases, answers)).toEqual([]);
  });
});

it('knows the feature gates of the kubelet', async () => {
  const gates = await knownGates();

  const known = [...FEATURE_GATES].map(([name, { stage, isOn, isLocked, needs }]) => ({
    ...{ name, stage, default: isOn, locked: isLocked, dependsOn: needs },
  }));
  const wanted = gates.map((gate) => ({
    ...gate,
    stage: ['ALPHA', 'BETA'].includes(gate.stage) ? gate.stage : 'OTHER',
  }));
  const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
  expect(known.sort(byName)).toEqual(wanted.sort(byName));
});
