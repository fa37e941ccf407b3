import { Writable } from 'node:stream';
import { createLogger, temporalLogger } from '../../../process/logging';

function recorded() {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { lines, log: createLogger({ process: 'test', level: 'debug', destination }) };
}

it('writes one JSON object per event, with the level in words', () => {
  const { lines, log } = recorded();

  log.info({ node: 'a' }, 'cordoned node');

  expect(lines).toEqual([
    expect.objectContaining({ level: 'info', process: 'test', node: 'a', msg: 'cordoned node' }),
  ]);
});

it('never writes credentials or the contents of a config', () => {
  const { lines, log } = recorded();

  log.info(
    {
      token: 'SECRET',
      headers: { authorization: 'SECRET' },
      file: { path: '/etc/a', contents: { source: 'data:,SECRET' } },
      user: { passwordHash: 'SECRET' },
      config: { spec: { config: 'SECRET' } },
    },
    'careless',
  );

  expect(JSON.stringify(lines)).not.toContain('SECRET');
  expect(JSON.stringify(lines)).toContain('/etc/a');
});

it("brings Temporal's lines in, under our own names", () => {
  const { lines, log } = recorded();

  temporalLogger(log).warn('Activity failed', {
    activityType: 'drainNode',
    workflowId: 'update-node/a',
    taskToken: 'xxx',
    error: new Error('boom'),
  });

  expect(lines).toEqual([
    expect.objectContaining({
      level: 'warn',
      msg: 'Activity failed',
      activity: 'drainNode',
      workflowId: 'update-node/a',
      err: expect.objectContaining({ message: 'boom' }) as object,
    }),
  ]);
  expect(lines[0]).not.toHaveProperty('taskToken');
});
