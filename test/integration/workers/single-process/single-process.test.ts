import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { becomeOnlyWorker } from '../../../../workers/host/single-process';
import { createLogger, type Logger } from '../../../../process/logging';
import { startScript } from '../../../unit/tools/script-process';

let directory: string;
let file: string;
const silent = createLogger({ process: 'test', level: 'silent' });
const { signal } = new AbortController();

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-sole-'));
  file = join(directory, 'run', 'worker.lock');
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

const worker = () => startScript(join(__dirname, 'worker.ts'), [file]);

test('a second process waits until the first has ended, also when that stands still', async () => {
  const first = worker();
  await first.line('works');
  first.child.kill('SIGSTOP');
  const second = worker();
  expect(await second.line('waits')).toBe(`waits for ${first.pid}`);
  first.child.kill('SIGCONT');
  first.goOn();
  expect(await first.ended()).toBe(0);
  await second.line('works');
});

test('a process that was killed holds nobody up', async () => {
  const first = worker();
  await first.line('works');
  await first.kill();
  expect(existsSync(file)).toBe(true);
  await worker().line('works');
});

test('within one process it may be taken twice, and leaving gives it free', async () => {
  const leave = await becomeOnlyWorker(file, { signal, log: silent });
  await becomeOnlyWorker(file, { signal, log: silent });
  leave();
  expect(existsSync(file)).toBe(false);
});

test('what is no lock of a worker is swept away', async () => {
  const leave = await becomeOnlyWorker(file, { signal, log: silent });
  leave();
  writeFileSync(file, 'something else');
  await becomeOnlyWorker(file, { signal, log: silent });
  expect(existsSync(file)).toBe(true);
});

test('a disk that takes no lock keeps nobody from work', async () => {
  writeFileSync(join(directory, 'run'), 'a file in the way');
  const warned: unknown[] = [];
  const log = { ...silent, warn: (fields: unknown) => warned.push(fields) } as unknown as Logger;
  await becomeOnlyWorker(file, { signal, log });
  expect(warned).toHaveLength(1);
});
