import { PauseWish } from '../../workflows/pause-wish';

type Look = Parameters<PauseWish['forgetIfShown']>[0];

const look = (paused: boolean): Look => ({ paused }) as Look;

it('is over once the view shows it', () => {
  const wish = new PauseWish(undefined);
  wish.say(true, 'freeze');

  wish.forgetIfShown(look(true));

  expect(wish.carried).toBeUndefined();
});

it.each([
  ['pause', true],
  ['resume', false],
])(
  'stands as a %s that was said over another one, whatever a view from before both shows',
  (_what, paused) => {
    const wish = new PauseWish(undefined);
    wish.say(!paused, 'first');
    wish.say(paused, 'last');
    // Written, and repeated for as long as a view may lag.
    wish.say(paused, 'last');

    wish.forgetIfShown(look(paused));

    expect(wish.over(look(!paused))).toEqual({ paused, reason: 'last' });
    expect(new PauseWish(wish.carried).over(look(!paused))).toEqual({ paused, reason: 'last' });
  },
);

describe('when what was said last cannot be written', () => {
  it.each([
    ['answered', true],
    ['being written', false],
  ])('goes by what was written before, that one %s', (_when, isAnswered) => {
    const wish = new PauseWish(undefined);
    wish.say(true, 'freeze');
    wish.noteWritten(true, 'freeze');
    if (isAnswered) wish.say(true, 'freeze');
    wish.say(false, 'thaw', { isLater: !isAnswered });

    wish.takeBack();

    expect(wish.over(look(false))).toEqual({ paused: true, reason: 'freeze' });
  });

  it('goes by the view when nothing was, or long ago', () => {
    const wish = new PauseWish(undefined);
    wish.say(false, 'thaw');
    wish.takeBack();
    expect(wish.carried).toBeUndefined();

    const later = new PauseWish({ paused: true, reason: 'freeze', until: '2020-01-01T00:00:00Z' });
    later.say(false, 'thaw');
    later.takeBack();
    expect(later.carried).toBeUndefined();
  });
});
