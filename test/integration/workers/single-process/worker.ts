// A host worker up to its lock: prints `waits` and `works`, and stays until stdin ends.
import { becomeOnlyWorker } from '../../../../workers/host/single-process';
import type { Logger } from '../../../../process/logging';

const [, , file = ''] = process.argv;
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const log = { warn: (fields: { pid?: number }) => say(`waits for ${fields.pid}`) } as Logger;

void becomeOnlyWorker(file, { signal: new AbortController().signal, log }).then((leave) => {
  say('works');
  process.stdin.resume().once('end', () => {
    leave();
    process.exit(0);
  });
});
