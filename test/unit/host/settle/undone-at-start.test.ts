/** Actions of a starting machine beside the undo, and the deployment that it expects. */

import { chmodSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import { isStaged } from '../../../../host/transaction/unfinished-update';
import {
  aConfig,
  aFile,
  aHost,
  bootInto,
  orderFor,
  type TestConfig,
  type TestHost,
} from '../a-host';

const configOf = (name: string, motd: string, command: string) =>
  aConfig(`rendered-worker-${name}`, {
    osImageURL: `quay.io/os@sha256:${motd}`,
    config: {
      storage: { files: [aFile('/etc/motd', motd)] },
      systemd: { units: [{ name: 'one.service', contents: `[Service]\nExecStart=${command}\n` }] },
    },
  });
const OLD = configOf('old', '1', '/bin/old');
const NEW = configOf('new', '2', '/bin/new');
const SAME_UNIT = configOf('same-unit', '3', '/bin/old');

describe('systemd, when the old deployment came up and the files are put back', () => {
  let host: TestHost;

  beforeEach(async () => {
    host = await aHost([OLD, NEW, SAME_UNIT]);
    await bootInto(host, OLD);
  });
  afterEach(() => host.remove());

  /** The unit, each time that systemd reads its units. */
  async function unitsRead(config: TestConfig): Promise<readonly string[]> {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(config, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(config, 'applyUpdate'));
    await activities.armReboot(orderFor(config, 'armReboot'));
    await host.boot({ broken: true });
    const found: string[] = [];
    const ports = await host.ports();
    const daemonReload = async () => {
      found.push(readFileSync(join(host.root, 'etc/systemd/system/one.service'), 'utf8'));
    };
    await settleAtStart({ ...ports, systemd: { ...ports.systemd, daemonReload } });
    expect(readFileSync(join(host.root, 'etc/motd'), 'utf8')).toBe('1');
    return found;
  }

  it('reads the old units', async () => {
    expect(await unitsRead(NEW)).toEqual(['[Service]\nExecStart=/bin/old\n']);
  });

  it('is left alone when no unit was changed', async () => {
    expect(await unitsRead(SAME_UNIT)).toEqual([]);
  });
});

describe('files that are put back at the start', () => {
  const FILES = ['/srv/own/conf', '/etc/network'];
  const [BEFORE, AFTER] = (['old', 'new'] as const).map((text) =>
    aConfig(`rendered-worker-${text}`, {
      config: { storage: { files: FILES.map((path) => aFile(path, text)) } },
    }),
  ) as [TestConfig, TestConfig];
  let host: TestHost;
  const read = (path: string) => readFileSync(join(host.root, path), 'utf8');

  /** The machine reboots by itself with files of an update that takes a reboot. */
  beforeEach(async () => {
    host = await aHost([BEFORE, AFTER]);
    await bootInto(host, BEFORE);
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(AFTER, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(AFTER, 'applyUpdate'));
    await host.boot();
  });
  afterEach(() => host.remove());

  it('are back also where the operating system does not answer', async () => {
    const ports = await host.ports();
    const discard = () => Promise.reject(new Error('rpm-ostree: busy'));

    await expect(settleAtStart({ ...ports, os: { ...ports.os, discard } })).rejects.toThrow('busy');

    expect(FILES.map(read)).toEqual(['old', 'old']);
  });

  it('are back but for the one that cannot even be checked', async () => {
    const srv = join(host.root, 'srv');
    rmSync(join(srv, 'own'), { recursive: true });
    chmodSync(srv, 0o777);
    symlinkSync('elsewhere', join(srv, 'own'));

    await expect(settleAtStart(await host.ports())).rejects.toThrow(/"own" is a link/);

    expect(read('/etc/network')).toBe('old');
  });
});

describe('a deployment', () => {
  const booted = { id: 'a', kernelArguments: [], extensions: [], kernelType: 'default' };
  const staged = (id: string, digest?: string) => ({
    bootId: 'boot',
    booted,
    staged: { ...booted, id, locked: true, ...(digest === undefined ? {} : { digest }) },
  });

  it.each([
    ['is staged under its name with its digest', { id: 'b', digest: 'sha256:1' }, 'sha256:1', true],
    ['is not when another image has its name', { id: 'b', digest: 'sha256:1' }, 'sha256:2', false],
    ['is staged when nobody knows its digest', { id: 'b' }, 'sha256:2', true],
    ['is staged when the driver tells none', { id: 'b', digest: 'sha256:1' }, undefined, true],
    ['is not under another name', { id: 'c', digest: 'sha256:1' }, 'sha256:1', false],
  ] as const)('%s', (_what, expected, digest, is) => {
    expect(isStaged(expected, staged('b', digest))).toBe(is);
  });

  it('is not staged when nothing is', () => {
    expect(isStaged({ id: 'a' }, { bootId: 'boot', booted })).toBe(false);
  });
});
