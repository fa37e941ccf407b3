/** `Number('')` is 0, and a loop to NaN, -1 or 0.5 does little or nothing. */

import { InvalidArgumentError } from 'commander';

/** @returns undefined when the text is no whole number from `least` to `most` */
export function wholeNumberOf(
  text: string,
  least: number,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  return value >= least && value <= most ? value : undefined;
}

/** For a flag of commander. */
export function wholeNumber(least: number, most?: number): (text: string) => number {
  return (text) => {
    const value = wholeNumberOf(text, least, most);
    if (value !== undefined) return value;
    const range = most === undefined ? `from ${least} on` : `from ${least} to ${most}`;
    throw new InvalidArgumentError(`expected a whole number ${range}.`);
  };
}
