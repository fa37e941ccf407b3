import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTimeOf } from '../../../tools/processes/identity';
import { startProcess } from '../../../tools/processes/managed-process';
import { gone, removed } from '../../unit/tools/await-process';
import { startScript, type ScriptProcess } from '../../unit/tools/script-process';

describe('children of a process that is gone', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-watchdog-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  async function startParent(way = ''): Promise<{ parent: ScriptProcess; children: number[] }> {
    const parent = startScript(join(__dirname, 'watchdog-parent.ts'), [directory, way]);
    const [, ...pids] = (await parent.line('ready')).split(' ');
    return { parent, children: pids.map(Number) };
  }

  async function expectNothingLeft(children: readonly number[]): Promise<void> {
    expect(children).toHaveLength(2);
    await Promise.all(children.map(gone));
    await removed(join(directory, 'temporary'));
  }

  it('end after SIGKILL, which no handler sees, even when one ignores SIGTERM', async () => {
    const { parent, children } = await startParent('stubborn');

    await parent.kill();

    await expectNothingLeft(children);
  });

  it('end after Ctrl-C', async () => {
    const { parent, children } = await startParent();

    parent.child.kill('SIGINT');
    await parent.ended();

    await expectNothingLeft(children);
  });

  it.each(['exit', 'throw'])('end after %s', async (way) => {
    const { parent, children } = await startParent(way);

    parent.goOn();
    await parent.ended();

    await expectNothingLeft(children);
  });
});

describe('a managed process', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'slipway-process-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  it('is killed when it does not stop in time', async () => {
    const stubborn = await startProcess({
      name: 'stubborn',
      command: '/bin/sh',
      args: ['-c', "trap '' TERM; while :; do sleep 0.05; done"],
      logFile: join(directory, 'log'),
    });

    await stubborn.stop(200);

    expect(startTimeOf(stubborn.pid)).toBeUndefined();
  });

  it('says how it ended', async () => {
    const failing = await startProcess({
      name: 'failing',
      command: '/bin/sh',
      args: ['-c', 'exit 3'],
      logFile: join(directory, 'log'),
    });

    expect(await failing.exited).toBe('exit status 3');
    expect(failing.ending()).toBe('exit status 3');
    await failing.stop();
  });
});
