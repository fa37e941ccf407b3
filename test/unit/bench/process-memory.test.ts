import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { memoryOf } from '../../../bench/process-memory';

/** Allocates 200 MiB, frees it, then reports and waits. */
const TAKER = `
  let taken = Buffer.alloc(200 * 1024 * 1024, 1);
  taken = undefined;
  gc();
  process.stdout.write('given back');
  process.stdin.resume();
`;

it('the most that a process had outlives what it gave back', async () => {
  const child = spawn(process.execPath, ['--expose-gc', '-e', TAKER]);
  const ended = once(child, 'exit');
  const pid = child.pid ?? 0;
  try {
    await once(child.stdout, 'data');

    expect(memoryOf(pid, 'VmHWM')).toBeGreaterThan(200);
    expect(memoryOf(pid, 'VmRSS')).toBeLessThan(150);
  } finally {
    child.stdin.end();
    await ended;
  }
  expect(memoryOf(pid, 'VmHWM')).toBeUndefined();
});
