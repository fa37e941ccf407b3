/** Messages of the observer's process, also when it ends in the middle of one. */

import { PassThrough } from 'node:stream';
import { Hears } from '../../observer/own-process';

test('each message is received, and a violation is kept', async () => {
  const output = new PassThrough();
  const hears = new Hears(output);
  const ready = hears.next((said) => said.kind === 'ready');
  const violation = hears.next((said) => said.kind === 'violation');

  const broken = { kind: 'violation', invariant: 'I1', subject: 'a', atMs: 1, text: 'a: too many' };
  output.write(`{"kind":"ready"}\n${JSON.stringify(broken)}\n`);

  await expect(ready).resolves.toEqual({ kind: 'ready' });
  await expect(violation).resolves.toEqual(broken);
  expect(hears.violations).toEqual([broken]);
});

test('a message that is cut off fails the wait for the next one', async () => {
  const output = new PassThrough();
  const hears = new Hears(output);
  const rest = hears.next((said) => said.kind === 'rest');

  output.end('{"kind":"violation","invariant":"I1","text":"3024 nodes');

  await expect(rest).rejects.toThrow('the observer was cut off at: {"kind":"violation"');
  await expect(hears.next((said) => said.kind === 'rest')).rejects.toThrow('was cut off');
  expect(hears.violations).toEqual([]);
});
