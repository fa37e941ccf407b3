// Takes the lock argv[2], prints `held`, keeps it until stdin ends, prints `released`. Meanwhile it owns the file
// argv[3], which two holders at a time could not both create.
import { once } from 'node:events';
import { openSync, rmSync } from 'node:fs';
import { withLock } from '../../../../tools/binaries/lock';

const [, , lock = '', token = ''] = process.argv;

async function hold(): Promise<void> {
  openSync(token, 'wx');
  process.stdout.write('held\n');
  process.stdin.resume();
  await once(process.stdin, 'end');
  rmSync(token);
}

withLock(lock, 'testing', hold, (holder) => {
  process.stdout.write(`waiting for ${holder.pid} ${holder.doing}\n`);
}).then(
  () => process.stdout.write('released\n'),
  (error: unknown) => {
    process.stdout.write(`failed ${String(error)}\n`);
    process.exitCode = 1;
  },
);
