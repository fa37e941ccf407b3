import { createTurns } from '../../../../server/ignition/turns';

/** Resolves after all work of the next turn of the event loop. */
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function aCrowd(perTurn: number, weights: readonly number[]): number[] {
  const turns = createTurns(perTurn);
  const begun: number[] = [];
  for (const [i, weight] of weights.entries()) turns(weight, () => begun.push(i));
  return begun;
}

describe('work in turns', () => {
  it('begins at once while there is room', () => {
    expect(aCrowd(3, [1, 1, 1])).toEqual([0, 1, 2]);
  });

  it('goes on in the next turn, first come, first served', async () => {
    const begun = aCrowd(10, [6, 6, 4, 1]);

    expect(begun).toEqual([0]);
    await nextTurn();
    expect(begun).toEqual([0, 1, 2]);
    await nextTurn();
    expect(begun).toEqual([0, 1, 2, 3]);
  });

  it('gives what is too heavy a turn for itself', async () => {
    const begun = aCrowd(10, [1, 50, 1]);

    expect(begun).toEqual([0]);
    await nextTurn();
    expect(begun).toEqual([0, 1]);
    await nextTurn();
    expect(begun).toEqual([0, 1, 2]);
  });

  it('has all its room again after a pause', async () => {
    const turns = createTurns(2);
    const begun: string[] = [];
    turns(2, () => begun.push('before'));
    await nextTurn();
    await nextTurn();

    turns(2, () => begun.push('after'));

    expect(begun).toEqual(['before', 'after']);
  });
});
