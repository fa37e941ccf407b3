/** With Node's own timers: tests their behaviour after the process was frozen. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { LAST_QUESTION_SECONDS, SilenceTimer } from '../../../../host/confirm/silence-timer';

const SECOND_MS = 5;

/** Blocks the process, as when it is frozen. */
function standStill(seconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, seconds * SECOND_MS);
}

let silence: SilenceTimer;
let over: Promise<void>;
beforeEach(() => {
  over = new Promise((resolve) => {
    silence = new SilenceTimer(resolve, SECOND_MS);
  });
});
afterEach(() => silence.end());

it('is over when the process has run for that time without an answer', async () => {
  silence.begin(1);
  await over;

  expect(silence.isOver).toBe(true);
});

it('is not over because the process stood still for longer, but when it has run for so long', async () => {
  silence.begin(1);
  standStill(4 * LAST_QUESTION_SECONDS);
  // Due timers run now, before any answer can arrive.
  await nextTurn();
  await nextTurn();
  expect(silence.isOver).toBe(false);

  await over;
});

it('is forgotten when it begins anew, and when it ends', async () => {
  silence.begin(1);
  await over;

  silence.begin(1);
  expect(silence.isOver).toBe(false);
  silence.end();
  expect(silence.isOver).toBe(false);
});
