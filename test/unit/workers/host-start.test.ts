/** What the worker of one machine does before and until it reaches Temporal. */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { confirmation, goBackByItself } from '../../../workers/host-confirmation';
import type { Host } from '../../../workers/host-loop';
import { notifySystemd, settleBeforeOthers } from '../../../workers/host-readiness';
import { createLogger, type Logger } from '../../../workers/logging';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../activities/host/a-host';

const OLD = aConfig('rendered-worker-old', {
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'old')] } },
});
const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});

let machine: TestHost;
let host: Host;
let log: Logger;
let lines: Record<string, unknown>[];
/** In the order in which they came about, each with the file at that moment. */
let events: string[];
const motd = () => readFileSync(join(machine.root, 'etc/motd'), 'utf8');

beforeEach(async () => {
  machine = await aHost([OLD, NEW]);
  lines = [];
  events = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  log = createLogger({ process: 'test', level: 'debug', destination });
  const activities = await machine.activities();
  await activities.prepareUpdate(orderFor(OLD, 'old-p'));
  await activities.applyUpdate(orderFor(OLD, 'old-a'));
  await activities.armReboot(orderFor(OLD, 'old-r'));
  await machine.boot();
  await (await machine.activities()).commitUpdate(orderFor(OLD, 'old-c'));
  const next = await machine.activities();
  await next.prepareUpdate(orderFor(NEW, 'p'));
  await next.applyUpdate(orderFor(NEW, 'a'));
  await next.armReboot(orderFor(NEW, 'r'));
  await refresh();
});
afterEach(() => machine.remove());

/** The host as a process that starts now sees it. */
async function refresh(): Promise<void> {
  host = {
    node: 'worker-1',
    identity: 'test',
    ports: await machine.ports(),
    reboot: async (reason) => void events.push(`reboot (${reason}) ${motd()}`),
  };
}

const notify = async () => void events.push(`ready ${motd()}`);

describe('the start', () => {
  it('lets others start once an unfinished update is settled', async () => {
    // The new deployment does not come up: the files must be back before the kubelet reads them.
    await (await machine.ports()).os.discard();
    await machine.boot();
    await refresh();
    expect(motd()).toBe('new');

    expect(await settleBeforeOthers(host, log, notify)).toBeUndefined();

    expect(events).toEqual(['ready old']);
  });

  it('lets nobody start before a reboot that is due', async () => {
    expect(await settleBeforeOthers(host, log, notify)).toBe('update to rendered-worker-new');

    expect(events).toEqual([]);
  });

  it('tells systemd, if it asks to be told', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'slipway-notify-'));
    const command = join(directory, 'systemd-notify');
    const told = join(directory, 'told');
    writeFileSync(command, `#!/bin/sh\necho "$NOTIFY_SOCKET $1" >> ${told}\n`);
    chmodSync(command, 0o755);
    const environment = { PATH: process.env['PATH'], NOTIFY_SOCKET: '/run/notify' };

    await notifySystemd({ ...environment, NOTIFY_SOCKET: '' }, log, command);
    await notifySystemd(environment, log, command);

    expect(readFileSync(told, 'utf8')).toBe('/run/notify --ready\n');
    await notifySystemd(environment, log, join(directory, 'missing'));
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: 'systemd cannot be told that the service is ready' }),
    );
    rmSync(directory, { recursive: true });
  });
});

describe('the confirmation of an update', () => {
  const secondsGiven = () => lines.find(({ seconds }) => seconds !== undefined)?.['seconds'];

  it.each([
    [100, 500],
    [599, 30],
    [3_600, 30],
  ])('counts from the boot: %i s after it, %i s are left of 600', async (up, left) => {
    await machine.boot();
    await refresh();

    const { deadline } = await confirmation(host, 600, log, () => up);

    expect(deadline?.aborted).toBe(false);
    expect(secondsGiven()).toBe(left);
  });

  it('is not asked for again in the same boot', async () => {
    await machine.boot();
    await refresh();
    const { reached } = await confirmation(host, 600, log, () => 0);
    await reached();

    expect((await confirmation(host, 600, log, () => 0)).deadline).toBeUndefined();
  });

  it('is not asked for without an update', async () => {
    await (await machine.activities()).goBack(orderFor(NEW, 'goBack'));

    expect((await confirmation(host, 600, log, () => 0)).deadline).toBeUndefined();
  });

  it('puts everything back before it reboots when nobody was reached', async () => {
    await machine.boot();
    await refresh();

    await goBackByItself(host, new AbortController().signal, log);

    expect(events).toEqual(['reboot (the update is taken back) old']);
    await machine.boot();
    const { booted } = await (await machine.ports()).os.status();
    expect(booted.image).toBe('quay.io/os@sha256:1');
  });
});
