/** A host worker whose metrics cannot be served still serves its queue. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { watchHosts } from '../../../../process/host/health';
import type { HostWorkerSettings } from '../../../../workers/host/settings';
import { createLogger } from '../../../../process/logging';

// The product loads it late and by the name of the compiled file, which does not exist here.
jest.mock(
  '../../../../process/health-server.js',
  () => jest.requireActual<object>('../../../../process/health-server'),
  { virtual: true },
);

type Line = Record<string, unknown>;

/** A log with a wait for a line. */
function listening() {
  const lines: Line[] = [];
  const waiting: { readonly key: string; readonly found: (line: Line) => void }[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      const line = JSON.parse(chunk.toString()) as Line;
      lines.push(line);
      for (const { key, found } of waiting) if (key in line) found(line);
      done();
    },
  });
  const log = createLogger({ process: 'test', level: 'debug', destination });
  const lineWith = (key: string) =>
    new Promise<Line>((found) => {
      const line = lines.find((one) => key in one);
      if (line !== undefined) found(line);
      else waiting.push({ key, found });
    });
  return { lines, log, lineWith };
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function takePort(): Promise<{ readonly port: number; free(): Promise<void> }> {
  const server = createServer();
  servers.push(server);
  await new Promise<void>((taken) => server.listen(0, '127.0.0.1', taken));
  const { port } = server.address() as AddressInfo;
  return { port, free: () => new Promise((gone) => server.close(() => gone())) };
}

function settingsOf(kind: 'single' | 'simulated', port: number): HostWorkerSettings {
  return { kind, metrics: { host: '127.0.0.1', port } } as unknown as HostWorkerSettings;
}

/** Temporal's own part is native and one per process. */
const given = { retryMs: 1, installRuntime: () => undefined };

it('does not end when its port is taken, and serves them once it is free', async () => {
  const { lines, log, lineWith } = listening();
  const taken = await takePort();

  const watched = await watchHosts(settingsOf('single', taken.port), ['n1'], log, given);

  expect(await lineWith('reason')).toMatchObject({
    level: 'warn',
    msg: 'metrics cannot be served yet',
    reason: expect.stringContaining('EADDRINUSE') as string,
  });
  watched.onPolling('n1');
  await taken.free();
  const { metrics } = await lineWith('metrics');
  const reply = await fetch(`${String(metrics)}/metrics`);
  expect(await reply.text()).toMatch(/^slipway_host_worker_hosts 1$/m);
  expect(lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  await watched.close();
  await expect(fetch(`${String(metrics)}/metrics`)).rejects.toThrow();
});

it('stops trying when the process ends', async () => {
  const { lines, log } = listening();
  const taken = await takePort();
  const watched = await watchHosts(settingsOf('single', taken.port), ['n1'], log, given);

  await watched.close();
  await taken.free();

  const other = await watchHosts(settingsOf('single', taken.port), ['n2'], log, given);
  await other.close();
  expect(lines.filter((line) => 'metrics' in line)).toHaveLength(1);
});

it('goes on without the metrics of Temporal when they cannot be had', async () => {
  const { log, lineWith } = listening();
  const free = await takePort();
  await free.free();
  const installed: (string | undefined)[] = [];
  const installRuntime = (_log: unknown, address?: string) => {
    installed.push(address);
    if (address !== undefined) throw new Error('address in use');
  };

  const settings = settingsOf('single', free.port);
  const watched = await watchHosts(settings, ['n1'], log, { ...given, installRuntime });

  expect(installed).toEqual([expect.stringContaining('127.0.0.1:'), undefined]);
  expect(await lineWith('reason')).toMatchObject({ reason: 'address in use' });
  await watched.close();
});

it('is a failure at once for simulated hosts: a person watches them', async () => {
  const { log } = listening();
  const taken = await takePort();

  const watching = watchHosts(settingsOf('simulated', taken.port), ['n1'], log, given);

  await expect(watching).rejects.toThrow('EADDRINUSE');
  await taken.free();
});
