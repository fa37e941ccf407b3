/** The bundle for machines, alone in a directory: its contents, and that it works without the rest. */

import { execFile, type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Client } from '@temporalio/client';
import { hostQueue } from '../../../core/names';
import { pinKeys, signedOrder } from '../../support/signed-orders';
import { startTemporal, temporalClient, type TemporalServer } from '../../../tools/temporal';
import type { MachineStatus } from '../../../host/status/machine-status';

jest.setTimeout(600_000);
const run = promisify(execFile);
const ROOT = join(__dirname, '..', '..', '..');

let directory: string;
let bundle: string;
let root: string;
let orderKeysFile: string;
let machine: readonly string[];

beforeAll(async () => {
  await run(process.execPath, [join(ROOT, 'tools/setup/host-bundle.mjs')], { cwd: ROOT });
  directory = mkdtempSync(join(tmpdir(), 'slipway-bundle-'));
  cpSync(join(ROOT, 'dist/host-bundle'), directory, { recursive: true });
  bundle = join(directory, 'slipway-host.cjs');
  root = join(directory, 'root');
  mkdirSync(join(root, 'etc'), { recursive: true });
  orderKeysFile = pinKeys(directory);
  const flags = ['--root', root, '--driver', 'none', '--node', 'worker-1'];
  machine = [...flags, '--order-keys-file', orderKeysFile];
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it('has no Kubernetes client, no schema library, no bundler and no compiler', () => {
  const bill = JSON.parse(readFileSync(join(directory, 'sbom.spdx.json'), 'utf8')) as {
    readonly packages: readonly { readonly name: string }[];
  };
  const packages = bill.packages.map(({ name }) => name);
  const heavy = packages.filter((name) =>
    /^(@kubernetes|@peculiar|reflect-metadata|zod|webpack|@swc|swc-loader|memfs|source-map|fastify|commander|yaml)/.test(
      name,
    ),
  );

  expect(packages).toContain('@temporalio/worker');
  expect(heavy).toEqual([]);
});

it('shows what a machine is, and settles it, without a server', async () => {
  const shown = await run(process.execPath, [bundle, 'host', 'status', '-o', 'json', ...machine]);
  const report = JSON.parse(shown.stdout) as MachineStatus;
  const settled = await run(process.execPath, [bundle, 'host-settle', ...machine.slice(0, 6)]);

  expect(report).toMatchObject({ node: 'worker-1', problems: [], driver: { name: 'none' } });
  expect(settled.stdout).toContain('nothing to settle');
});

it('says how it is used', async () => {
  await expect(run(process.execPath, [bundle, 'hots'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('usage: slipway host-worker') as string,
  });
  await expect(run(process.execPath, [bundle, 'host-worker', '--frob'])).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--frob') as string,
  });
});

describe('as a worker', () => {
  let temporal: TemporalServer;
  let client: Client;
  let child: ChildProcess;
  const log: string[] = [];

  beforeAll(async () => {
    temporal = await startTemporal({ ui: false });
    client = await temporalClient(temporal);
    const authority = join(directory, 'ca.crt');
    writeFileSync(authority, '');
    const settings = {
      temporalAddress: temporal.address,
      temporalNamespace: temporal.namespace,
      serverUrl: 'https://127.0.0.1:9',
      node: 'worker-1',
      root,
      driver: 'none',
      authorityFile: authority,
      orderKeysFile,
      startJitterSeconds: 0,
    };
    const configFile = join(directory, 'host.yaml');
    const lines = Object.entries(settings).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(configFile, lines.join(''));
    child = spawn(process.execPath, [bundle, 'host-worker', '--config-file', configFile], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code) => reject(new Error(`ended with ${code}: ${log.join('\n')}`)));
      if (child.stdout === null) throw new Error('no output');
      createInterface({ input: child.stdout }).on('line', (line) => {
        log.push(line);
        if (line.includes('host serves its queue')) resolve();
      });
    });
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await client?.connection.close();
    await temporal?.stop();
  });

  it('answers orders, shows that it does, and ends in order', async () => {
    const order = {
      ...{ orderId: 'update-node/worker-1/1/goBack', step: 'goBack', node: 'worker-1' },
      pool: { name: 'worker', uid: 'pool-worker', generation: 1 },
      config: { name: 'rendered-worker-1', digest: '0'.repeat(64) },
      disruptionPolicies: {},
      issuedAt: new Date().toISOString(),
      notAfter: new Date(Date.now() + 600_000).toISOString(),
    };
    const handle = await client.activity.start<{ rebooting: boolean }>('goBack', {
      id: 'goBack-1',
      taskQueue: hostQueue('worker-1'),
      args: [signedOrder(order)],
      scheduleToCloseTimeout: '60s',
    });
    expect(await handle.result()).toMatchObject({ rebooting: false });

    const { stdout } = await run(process.execPath, [bundle, 'host', 'status', ...machine]);
    expect(stdout).toMatch(/worker: +process \d+: connected since/);
    expect(stdout).toMatch(/last order: goBack of rendered-worker-1, ended/);

    child.removeAllListeners('exit');
    const exit = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
  });
});
