import { isDead, isOtherWorthATry } from '../../../../process/temporal/dead-connection';

const MINUTE = 60_000;
const silence = (isOtherAnswered: boolean) => ({ sinceMs: 1_000, isOtherAnswered });

it.each([
  ['answers', undefined, 60 * MINUTE, false],
  ['is silent for less than two minutes', silence(true), 1_999 + MINUTE, false],
  ['is silent for two minutes, and so is another one', silence(false), 1_000 + 2 * MINUTE, false],
  ['is silent for hours, and so is another one', silence(false), 300 * MINUTE, false],
  [
    'is silent for two minutes, and another one is answered',
    silence(true),
    1_000 + 2 * MINUTE,
    true,
  ],
] as const)('a connection that %s is dead or not', (_what, found, nowMs, dead) => {
  expect(isDead(found, nowMs)).toBe(dead);
});

it('another connection is tried when the silence has lasted two minutes', () => {
  expect(isOtherWorthATry(undefined, 60 * MINUTE)).toBe(false);
  expect(isOtherWorthATry(silence(false), 999 + 2 * MINUTE)).toBe(false);
  expect(isOtherWorthATry(silence(false), 1_000 + 2 * MINUTE)).toBe(true);
});
