import { isJsonObject } from './kind';

/** One field that differs; `undefined` = absent. */
interface Difference {
  /** `$.spec.config.storage.files[2].mode`; `$` is the answer itself. */
  readonly path: string;
  readonly expected: unknown;
  readonly actual: unknown;
}

/**
 * Every field in which two JSON values differ, in the order of the expected keys. A key with value `undefined`
 * counts as absent; `null` does not.
 */
export function differences(expected: unknown, actual: unknown, path = '$'): Difference[] {
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const length = Math.max(expected.length, actual.length);
    return Array.from({ length }, (_, i) =>
      differences(expected[i], actual[i], `${path}[${i}]`),
    ).flat();
  }
  if (isJsonObject(expected) && isJsonObject(actual)) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    return [...keys].flatMap((key) => differences(expected[key], actual[key], `${path}.${key}`));
  }
  return Object.is(expected, actual) ? [] : [{ path, expected, actual }];
}

/** One line per side, cut to the width of a screen. */
export function describeDifference(difference: Difference): string {
  return [
    `  ${difference.path}`,
    `    expected ${excerpt(difference.expected)}`,
    `    got      ${excerpt(difference.actual)}`,
  ].join('\n');
}

function excerpt(value: unknown): string {
  const text = value === undefined ? '(absent)' : JSON.stringify(value);
  return text.length <= 400 ? text : `${text.slice(0, 400)}… (${text.length} characters)`;
}
