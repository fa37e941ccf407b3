import { RolloutRecord } from '../../observer/record';
import { until } from '../../observer/until';
import { node } from './objects';

test('a wait is over with the change that it waits for', async () => {
  const record = new RolloutRecord({});
  const wait = until(record, 'a is seen', () => record.node('a') !== undefined);

  record.nodeSeen(node('a'), 0);

  await wait;
});

test('a wait that is ended says what it waited for', async () => {
  const end = new AbortController();
  const wait = () => until(new RolloutRecord({}), 'a is seen', () => false, undefined, end.signal);

  const during = wait();
  end.abort();
  const after = wait();

  await expect(during).rejects.toThrow('not seen before the end: a is seen');
  await expect(after).rejects.toThrow('not seen before the end: a is seen');
});
