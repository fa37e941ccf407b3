/** The files with which a shell rolls back a machine on which no host worker starts. */

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { dropFallback, leaveWayBack } from '../../../../host/update/fallback';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';
import { motdOf, NEW, OLD } from '../an-os-update';

/** The same image, and a file whose change takes a reboot. */
const NEW_FILE = aConfig('rendered-worker-file', {
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'other')] } },
});

let host: TestHost;
const unconfirmed = () => join(host.root, 'var/lib/slipway/unconfirmed');
const unstarted = () => join(host.root, 'var/lib/slipway/unstarted');

beforeEach(async () => {
  host = await aHost([OLD, NEW, NEW_FILE]);
  await bootInto(host, OLD);
});
afterEach(() => host.remove());

async function arm(config: TestConfig, seconds: number): Promise<string> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(config, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(config, 'applyUpdate'));
  const order = { ...orderFor(config, 'armReboot'), reconnectSeconds: seconds };
  return (await activities.armReboot(order)).bootId;
}

async function armFirstBoot(): Promise<void> {
  const { files } = await host.ports();
  await leaveWayBack(files, { booted: 'old.0', expected: 'new.0', seconds: undefined });
}

async function bootedId(): Promise<string> {
  return (await (await host.ports()).os.status()).booted.id;
}

it('has the time of the order and the deployment of now, for root alone', async () => {
  const previous = await bootedId();

  await arm(NEW, 90);

  expect(readFileSync(unconfirmed(), 'utf8')).toBe(`90\n${previous}\n`);
  expect(statSync(unconfirmed()).mode & 0o777).toBe(0o600);
});

it('is there until the worker of the new deployment calls it off', async () => {
  await arm(NEW, 90);
  await host.boot();
  const ports = await host.ports();
  expect(await settleAtStart(ports)).toEqual({});
  expect(existsSync(unconfirmed())).toBe(true);

  await dropFallback(ports.files);
  await dropFallback(ports.files);

  expect(existsSync(unconfirmed())).toBe(false);
});

it('is dropped by the process that goes on with the reboot', async () => {
  const previous = await bootedId();
  await arm(NEW, 90);
  const ports = await host.ports();
  await dropFallback(ports.files);

  expect(await settleAtStart(ports)).toMatchObject({ reboot: expect.any(String) as string });

  expect(readFileSync(unconfirmed(), 'utf8')).toBe(`90\n${previous}\n`);
});

it.each<[string, () => Promise<unknown>]>([
  ['the deployment stays the same', () => arm(NEW_FILE, 90)],
  ['nobody has to be reached: a first boot', () => armFirstBoot()],
])('is not there when %s, nor what an earlier update left', async (_, armIt) => {
  writeFileSync(unconfirmed(), '90\nearlier\n');

  await armIt();

  expect(existsSync(unconfirmed())).toBe(false);
});

it('is called off by an update that is rolled back before its reboot', async () => {
  await arm(NEW, 90);

  await (await host.activities()).goBack(orderFor(NEW, 'goBack'));

  expect(existsSync(unconfirmed())).toBe(false);
});

it('is called off by a worker that rolls back by itself', async () => {
  await arm(NEW, 90);
  await host.boot();

  await goBackAlone(await host.ports(), 'nobody answered');

  expect(existsSync(unconfirmed())).toBe(false);
});

describe('a machine that the shell has rolled back', () => {
  let rebootedFrom: string;

  beforeEach(async () => {
    const previous = await bootedId();
    rebootedFrom = await arm(NEW, 90);
    await host.boot();
    // As the shell does it when no process starts.
    await (await host.ports()).os.rollback(previous);
    writeFileSync(unstarted(), readFileSync(unconfirmed()));
    await dropFallback((await host.ports()).files);
    await host.boot();
  });

  it('puts its files back, and says that no worker came up', async () => {
    const { what } = await settleAtStart(await host.ports());

    expect(what).toContain('rolled back the update to rendered-worker-new: slipway-host-fallback');
    expect(what).toContain('within 90 s of the reboot');
    expect(motdOf(host)).toBe('old');
    expect(existsSync(unstarted())).toBe(false);
  });

  it('reports to the update, whichever program settled before', async () => {
    await settleAtStart(await host.ports());
    await host.boot();
    await settleAtStart(await host.ports());

    const verifying = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await expect((await host.activities()).verifyUpdate(verifying)).rejects.toMatchObject({
      message: expect.stringContaining('slipway-host.service starts on the new image') as string,
    });
  });
});
