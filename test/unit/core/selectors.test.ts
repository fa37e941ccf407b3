import type { LabelSelector } from '../../../core/object-meta';
import { compileSelector } from '../../../core/selectors';

/** An absent or empty selector matches nothing, as everywhere in MCO. */
function selectorMatches(
  selector: Parameters<typeof compileSelector>[0],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  const compiled = compileSelector(selector);
  return !compiled.empty && compiled.matches(labels);
}

const labels = { role: 'worker', zone: 'a', empty: '' };

describe('label selectors', () => {
  it.each<[string, LabelSelector, boolean]>([
    ['a label', { matchLabels: { role: 'worker' } }, true],
    ['all labels', { matchLabels: { role: 'worker', zone: 'b' } }, false],
    ['an empty value', { matchLabels: { empty: '' } }, true],
    ['an absent label, not an empty one', { matchLabels: { absent: '' } }, false],
    [
      'In',
      { matchExpressions: [{ key: 'role', operator: 'In', values: ['infra', 'worker'] }] },
      true,
    ],
    [
      'In of an absent key',
      { matchExpressions: [{ key: 'x', operator: 'In', values: [''] }] },
      false,
    ],
    [
      'NotIn',
      { matchExpressions: [{ key: 'role', operator: 'NotIn', values: ['worker'] }] },
      false,
    ],
    [
      'NotIn of an absent key',
      { matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y'] }] },
      true,
    ],
    ['Exists', { matchExpressions: [{ key: 'empty', operator: 'Exists' }] }, true],
    ['DoesNotExist', { matchExpressions: [{ key: 'role', operator: 'DoesNotExist' }] }, false],
    [
      'labels and expressions together',
      { matchLabels: { zone: 'a' }, matchExpressions: [{ key: 'x', operator: 'Exists' }] },
      false,
    ],
    [
      'no inherited property',
      { matchExpressions: [{ key: 'toString', operator: 'Exists' }] },
      false,
    ],
  ])('match %s', (_name, selector, expected) => {
    expect(selectorMatches(selector, labels)).toBe(expected);
  });

  it.each([undefined, {}, { matchLabels: {} }, { matchExpressions: [] }])(
    'match nothing when empty: %j',
    (selector) => {
      expect(compileSelector(selector).empty).toBe(true);
      expect(selectorMatches(selector, labels)).toBe(false);
    },
  );

  it('match nodes without labels only by absence', () => {
    const absent = { matchExpressions: [{ key: 'x', operator: 'DoesNotExist' }] };

    expect(selectorMatches(absent, undefined)).toBe(true);
    expect(selectorMatches({ matchLabels: { role: 'worker' } }, undefined)).toBe(false);
  });

  it.each<[string, LabelSelector, string]>([
    [
      'an unknown operator',
      { matchExpressions: [{ key: 'x', operator: 'Like', values: ['y'] }] },
      '"Like" is not a valid label selector operator',
    ],
    [
      'In without values',
      { matchExpressions: [{ key: 'x', operator: 'In' }] },
      "values: for 'In' operator, values set can't be empty",
    ],
    [
      'Exists with values',
      { matchExpressions: [{ key: 'x', operator: 'Exists', values: ['y'] }] },
      'values: values set must be empty for exists and does not exist',
    ],
  ])('refuse %s', (_name, selector, message) => {
    expect(() => compileSelector(selector)).toThrow(message);
  });
});
