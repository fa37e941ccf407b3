import type { Lookup } from '../../../../activities/cluster/ports';
import { whenSynced } from '../../../../activities/cluster/when-synced';
import { pictureOf } from './picture-of';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const unlisted: Lookup<unknown> = { ...pictureOf([]), synced: new Promise(() => undefined) };

it('waits for the first list of each cache', async () => {
  await expect(whenSynced([pictureOf([]), pictureOf([])])).resolves.toBeUndefined();
});

it('fails when a list does not come, so that it is seen', async () => {
  const outcome = expect(whenSynced([pictureOf([]), unlisted])).rejects.toMatchObject({
    name: 'ApiUnavailable',
    message: 'the watches of the cluster have not caught up yet',
  });

  await jest.advanceTimersByTimeAsync(8_000);
  await outcome;
});
