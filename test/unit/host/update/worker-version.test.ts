/** One of several installed versions of the host worker runs: which one, and what an update says of it. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../a-host';

const CONFIG = aConfig('rendered-worker-1', {
  config: { storage: { files: [aFile('/etc/slipway-host-version', '2.0.0\n')] } },
});

describe('an update that names a version', () => {
  let host: TestHost;
  const put = (path: string, text: string): void => {
    mkdirSync(join(host.root, path, '..'), { recursive: true });
    writeFileSync(join(host.root, path), text);
  };
  const prepare = async () =>
    (await host.activities()).prepareUpdate(orderFor(CONFIG, 'prepareUpdate'));

  beforeEach(async () => {
    host = await aHost([CONFIG]);
  });
  afterEach(() => host.remove());

  it('is refused, before the node is disturbed, where that is not installed', async () => {
    put('/var/lib/slipway/host/versions/1.0.0/slipway', '');

    await expect(prepare()).rejects.toMatchObject({
      name: 'ApplyFailed',
      message: expect.stringContaining(
        'names version 2.0.0 of the host worker, which is not',
      ) as string,
    });
  });

  it('fails its verification where another one runs in its place', async () => {
    put('/var/lib/slipway/host/versions/2.0.0/slipway', '');
    put('/var/lib/slipway/host/running', '1.0.0\n');
    await prepare();
    const activities = await host.activities();
    await activities.applyUpdate(orderFor(CONFIG, 'applyUpdate'));
    const order = { ...orderFor(CONFIG, 'verifyUpdate'), commitWithinSeconds: 60 };

    await expect(activities.verifyUpdate(order)).rejects.toMatchObject({
      name: 'VerifyFailed',
      message:
        'version 2.0.0 of the host worker does not start, and version 1.0.0 runs in its place',
    });

    put('/var/lib/slipway/host/running', '2.0.0\n');
    await expect(activities.verifyUpdate(order)).resolves.toBeDefined();
  });

  it('means nothing where the host worker belongs to the image', async () => {
    await expect(prepare()).resolves.toMatchObject({ alreadyOnTarget: false });
  });
});

describe('deploy/host/slipway-installed', () => {
  let home: string;
  const put = (name: string, text: string): void => writeFileSync(join(home, name), text);
  const file = (name: string): string => readFileSync(join(home, name), 'utf8');

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'slipway-versions-'));
    for (const version of ['1', '2']) {
      mkdirSync(join(home, 'versions', version), { recursive: true });
      const program = `#!/bin/sh\necho ${version} "$@"\n`;
      writeFileSync(join(home, 'versions', version, 'slipway'), program, { mode: 0o755 });
    }
    put('proven', '1\n');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  function start(...args: readonly string[]): string {
    const script = readFileSync(join(process.cwd(), 'deploy/host/slipway-installed'), 'utf8')
      .replace('/var/lib/slipway/host', home)
      .replaceAll('/etc/slipway-host-version', join(home, 'wanted'));
    put('script', script);
    return execFileSync('sh', [join(home, 'script'), ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  }

  it('runs the one that has started, and then the one that the config names', () => {
    expect(start('host-worker', '--x')).toBe('1 host-worker --x');
    put('wanted', '2\n');
    expect(start('host-worker')).toBe('2 host-worker');
    expect(file('running')).toBe('2\n');
  });

  it('runs the last one that has started, after three starts of another one', () => {
    put('wanted', '2\n');

    const runs = ['host-settle', 'host-worker', 'host-worker', 'host-worker', 'host-settle'].map(
      (command) => start(command).charAt(0),
    );

    expect(runs).toEqual(['2', '2', '2', '1', '1']);
    expect(file('running')).toBe('1\n');
  });

  it('counts no command of a person, and nothing once a version has started', () => {
    put('wanted', '2\n');
    for (let time = 0; time < 5; time += 1) expect(start('host', 'status')).toBe('2 host status');
    put('proven', '2\n');
    for (let time = 0; time < 5; time += 1) expect(start('host-worker')).toBe('2 host-worker');
  });

  it('runs the last one that has started where the named one is not installed', () => {
    put('wanted', '3\n');

    expect(start('host-worker')).toBe('1 host-worker');
  });
});
