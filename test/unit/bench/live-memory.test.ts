import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { startLiveMemory, type LiveMemory } from '../../../bench/live-memory';

const MIB = 1024 * 1024;

let memory: LiveMemory;
beforeAll(async () => {
  memory = await startLiveMemory();
});
afterAll(() => memory.stop());

it('tells what all threads hold, and not what they left lying', async () => {
  const empty = await liveOf('');
  const full = await liveOf(`
    globalThis.kept = holds(30);
    holds(200);
    const { Worker } = require('node:worker_threads');
    const thread = new Worker(\`
      \${holds}
      globalThis.kept = holds(50);
      holds(200);
      require('node:worker_threads').parentPort.on('message', () => undefined).postMessage('full');
    \`, { eval: true });
    await require('node:events').once(thread, 'message');`);

  const held = (full - empty) / MIB;
  expect(held).toBeGreaterThan(80);
  expect(held).toBeLessThan(100);
});

it('refuses a process that was not started for it', async () => {
  await expect(memory.collect(process.pid)).rejects.toThrow('ENOENT');
});

async function liveOf(program: string): Promise<number> {
  const source = `
    function holds(mib) { return Array.from({ length: mib }, () => new Array(${MIB / 8}).fill(0.5)); }
    (async () => { ${program}; console.log('ready'); setInterval(() => undefined, 1_000); })();`;
  const child = spawn(process.execPath, ['--eval', source], {
    env: { ...process.env, ...memory.environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(child.stdout, 'data');
    return await memory.collect(child.pid ?? 0);
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
