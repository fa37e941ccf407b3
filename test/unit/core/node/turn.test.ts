import { laterMark, turnOf, type UpdateRun } from '../../../../core/node/turn';

const FIRST: UpdateRun = { id: 'one', startedAt: '2026-01-01T00:00:00.000Z' };
const SECOND: UpdateRun = { id: 'two', startedAt: '2026-01-01T00:05:00.000Z' };

/** The mark on the Node after these steps. */
function after(...steps: readonly Parameters<typeof take>[]): string | undefined {
  return steps.reduce<string | undefined>((mark, [run, step]) => take(run, step, mark), undefined);
}

function take(run: UpdateRun, step: 'takes' | 'gives back', mark?: string): string {
  const turn = turnOf(mark, run, step);
  if (!turn.ok) throw new Error(turn.reason);
  return turn.mark;
}

describe('a run takes its turn', () => {
  it.each([
    ['nobody has written the Node', undefined],
    ['the one before is over', after([FIRST, 'takes'], [FIRST, 'gives back'])],
    ['the one before was lost in the middle', after([FIRST, 'takes'])],
    ['a person has written something else', 'nonsense'],
    ['a person has written a date that is none', 'v1/someday/one'],
  ])('when %s', (_when, mark) => {
    expect(turnOf(mark, SECOND, 'takes')).toEqual({
      ok: true,
      mark: 'v1/2026-01-01T00:05:00.000Z/two',
    });
  });

  it('with its last step when it has nothing to take the node for', () => {
    expect(turnOf(after([FIRST, 'takes']), SECOND, 'gives back')).toEqual({
      ok: true,
      mark: 'v1/2026-01-01T00:05:00.000Z/two/over',
    });
  });
});

describe('a step may come twice', () => {
  it.each(['takes', 'gives back'] as const)('when it %s', (step) => {
    const mark = after([FIRST, step]);

    expect(turnOf(mark, FIRST, step)).toEqual({ ok: true, mark });
  });
});

describe('a mark of which Temporal has shown that its run is not the open one', () => {
  const ahead = 'v1/2126-01-01T00:00:00.000Z/another';

  it.each(['takes', 'gives back'] as const)('keeps nobody who %s the node from it', (step) => {
    expect(turnOf(ahead, FIRST, step)).toMatchObject({ ok: false });
    expect(turnOf(ahead, FIRST, step, ahead)).toEqual({ ok: true, mark: after([FIRST, step]) });
  });

  it('is this mark only, and not the one of a run that has begun since', () => {
    const reason = 'update run two has begun since';

    expect(turnOf(after([SECOND, 'takes']), FIRST, 'takes', ahead)).toEqual({ ok: false, reason });
  });

  it('is never that of a run that has given its own node back', () => {
    const mark = after([FIRST, 'takes'], [FIRST, 'gives back']) ?? '';

    expect(turnOf(mark, FIRST, 'takes', mark)).toMatchObject({ ok: false });
  });
});

describe('a late step', () => {
  it.each(['takes', 'gives back'] as const)('of an earlier run that %s it is refused', (step) => {
    const reason = 'update run two has begun since';

    expect(turnOf(after([SECOND, 'takes']), FIRST, step)).toEqual({ ok: false, reason });
    expect(turnOf(after([SECOND, 'gives back']), FIRST, step)).toEqual({ ok: false, reason });
  });

  it('does not cordon again a node that its own run has uncordoned', () => {
    const mark = after([FIRST, 'takes'], [FIRST, 'gives back']);

    expect(turnOf(mark, FIRST, 'takes')).toEqual({ ok: false, reason: 'the update is over' });
  });
});

describe('a mark of a later version', () => {
  it('is refused with both versions, and says what to do', () => {
    expect(laterMark('worker-1', 'v2/another/form')).toBe(
      'annotation slipway.dev/update-run of node worker-1 is of version 2, written by a later Slipway, and this one ' +
        'knows version 1 at most: install that later Slipway again, or remove the annotation when no update of the node is under way',
    );
  });

  it.each([undefined, '', 'nonsense', after([FIRST, 'takes'])])('is not %j', (mark) => {
    expect(laterMark('worker-1', mark)).toBeUndefined();
  });
});
