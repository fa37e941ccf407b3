/** A path that cannot be restored on a machine without contact: it boots nevertheless, for the other paths. */

import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import { settleAtStart } from '../../../../host/settle/settle-at-start';
import type { HostPorts } from '../../../../host/ports';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';

const FILES = ['/etc/motd', '/etc/network', '/etc/zz'];
const [OLD, NEW] = (['old', 'new'] as const).map((name) =>
  aConfig(`rendered-worker-${name}`, {
    config: { storage: { files: FILES.map((path) => aFile(path, name)) } },
  }),
) as [ReturnType<typeof aConfig>, ReturnType<typeof aConfig>];

let host: TestHost;
const read = (path: string) => readFileSync(join(host.root, path), 'utf8');

async function aProcess(): Promise<HostPorts & { readonly asked: string[] }> {
  const asked: string[] = [];
  const request = (reason: string) => void asked.push(reason);
  return { ...(await host.ports()), reboot: { request }, warn: () => undefined, asked };
}

beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  await bootInto(host, OLD);
  for (const step of ['prepareUpdate', 'applyUpdate', 'armReboot'] as const) {
    await (await host.activities())[step](orderFor(NEW, step));
  }
  await host.boot();
  rmSync(join(host.root, '/etc/zz'));
  mkdirSync(join(host.root, '/etc/zz'));
  writeFileSync(join(host.root, '/etc/zz/notes'), 'theirs');
});
afterEach(() => host.remove());

async function expectNamedAndNoBoot(): Promise<void> {
  expect(read('/etc/network')).toBe('old');
  await expect(settleAtStart(await host.ports())).rejects.toThrow(/zz/);
  const { goBack } = await host.activities();
  await expect(goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject({
    name: 'RollbackFailed',
    message: expect.stringContaining('/etc/zz') as string,
  });
}

it('boots by itself, and the order that comes then names the path', async () => {
  const ports = await aProcess();

  await goBackAlone(ports, 'nobody was reached');

  expect(ports.asked).toEqual(['the update is rolled back']);
  await host.boot();
  await expect(settleAtStart(await host.ports())).rejects.toThrow(/zz/);
  await expectNamedAndNoBoot();
});

it('boots when the process died just before the reboot', async () => {
  const request = () => {
    throw new Error('the process died');
  };
  const ports = { ...(await aProcess()), reboot: { request } };
  await expect(goBackAlone(ports, 'nobody was reached')).rejects.toThrow('died');

  const settled = await settleAtStart({ ...(await host.ports()), warn: () => undefined });

  expect(settled).toMatchObject({ reboot: 'the update is rolled back' });
  await host.boot();
  await expect(settleAtStart(await host.ports())).rejects.toThrow(/zz/);
  await expectNamedAndNoBoot();
});

it('keeps what is staged from nothing: it is dropped all the same', async () => {
  await goBackAlone(await aProcess(), 'nobody was reached');
  await host.boot();
  const ports = await host.ports();
  const asked: string[] = [];
  const os = { ...ports.os, discard: async () => void asked.push('discard') };

  await expect(settleAtStart({ ...ports, os })).rejects.toThrow(/zz/);

  expect(asked).toEqual(['discard']);
});

it('does not boot when an order takes it back: that one is told, and may be given again', async () => {
  const { goBack } = await host.activities();

  await expect(goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject({ name: 'RollbackFailed' });

  expect(host.reboots).toEqual(['update to rendered-worker-new']);
  expect(read('/etc/network')).toBe('old');
});
