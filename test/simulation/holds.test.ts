import type { Node } from '../../core/node/types';
import type { VirtualClock } from './clock';
import { Holds } from './holds';
import { DECIDING_MS } from './outages';

const CONFIG = 'rendered-worker-2';
const HELD_AT = 10_000;
/** When whoever tells the machine to reboot must have known. */
const KNOWN_AT = HELD_AT + DECIDING_MS;

interface Scene {
  readonly holds: Holds;
  at(nowMs: number): void;
}

/** Held for the config. */
function scene(): Scene {
  const clock = { now: HELD_AT };
  const holds = new Holds(clock as VirtualClock);
  holds.seen('a', node(CONFIG));
  return {
    holds,
    at: (nowMs) => {
      clock.now = nowMs;
    },
  };
}

function node(heldFor?: string): Node {
  const annotations = heldFor === undefined ? {} : { 'slipway.dev/held-for': heldFor };
  return { metadata: { name: 'a', annotations } };
}

describe('a node that is held for a config', () => {
  it('does not reboot into it, however often it is written since', () => {
    const { holds, at } = scene();
    at(KNOWN_AT - 1);
    holds.seen('a', node(CONFIG));
    expect(holds.before('a', CONFIG, KNOWN_AT)).toBe(DECIDING_MS / 1000);
  });

  it('may when it was told to before that could be known', () => {
    expect(scene().holds.before('a', CONFIG, KNOWN_AT - 1)).toBeUndefined();
  });

  it('may reboot into another config, and another node into this one', () => {
    const { holds } = scene();
    expect(holds.before('a', 'rendered-worker-3', KNOWN_AT)).toBeUndefined();
    expect(holds.before('b', CONFIG, KNOWN_AT)).toBeUndefined();
  });

  it.each([
    ['its retry was asked for', ({ holds }: Scene) => holds.toldToRetry('a')],
    ['its mark is gone', ({ holds }: Scene) => holds.seen('a', node())],
    ['it was deleted', ({ holds }: Scene) => holds.seen('a', undefined)],
  ])('may when %s', (_what, happens) => {
    const story = scene();
    happens(story);
    expect(story.holds.before('a', CONFIG, KNOWN_AT)).toBeUndefined();
  });

  it('may not when it is held again after a retry', () => {
    const { holds } = scene();
    holds.toldToRetry('a');
    holds.seen('a', node(CONFIG));
    expect(holds.before('a', CONFIG, KNOWN_AT)).toBeUndefined();
    holds.seen('a', node());
    holds.seen('a', node(CONFIG));
    expect(holds.before('a', CONFIG, KNOWN_AT)).toBe(DECIDING_MS / 1000);
  });
});
