import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  awaitsConfirmation,
  confirmReached,
  goBackAlone,
  settleAtStart,
} from '../../../../activities/host';
import { aConfig, aFile, aHost, orderFor, type TestHost } from './a-host';

const OLD = aConfig('rendered-worker-old', {
  osImageURL: 'quay.io/os@sha256:1',
  config: { storage: { files: [aFile('/etc/motd', 'old')] } },
});
const NEW = aConfig('rendered-worker-new', {
  osImageURL: 'quay.io/os@sha256:2',
  config: { storage: { files: [aFile('/etc/motd', 'new')] } },
});

describe('a host worker that starts', () => {
  let host: TestHost;
  const motd = () => readFileSync(join(host.root, 'etc/motd'), 'utf8');

  beforeEach(async () => {
    host = await aHost([OLD, NEW]);
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(OLD, 'p', { orderId: 'old/p' }));
    await activities.applyUpdate(orderFor(OLD, 'a', { orderId: 'old/a' }));
    await activities.armReboot(orderFor(OLD, 'r', { orderId: 'old/r' }));
    await host.boot();
    await (await host.activities()).commitUpdate(orderFor(OLD, 'c', { orderId: 'old/c' }));
    host.reboots.length = 0;
  });
  afterEach(() => host.remove());

  async function armNew(): Promise<string> {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    return (await activities.armReboot(orderFor(NEW, 'armReboot'))).bootId;
  }

  it('has nothing to do without an update', async () => {
    const ports = await host.ports();

    expect(await settleAtStart(ports)).toBeUndefined();
    expect(await awaitsConfirmation(ports)).toBeUndefined();
  });

  it('has to reach somebody once in the boot of an update, for as long as it was ordered', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    const order = { ...orderFor(NEW, 'armReboot'), reconnectSeconds: 90 };
    await activities.armReboot(order);
    expect(await awaitsConfirmation(await host.ports())).toBeUndefined();

    await host.boot();
    expect(await awaitsConfirmation(await host.ports())).toEqual({ reconnectSeconds: 90 });
    await confirmReached(await host.ports());
    expect(await awaitsConfirmation(await host.ports())).toBeUndefined();

    await host.boot();
    expect(await awaitsConfirmation(await host.ports())).toEqual({ reconnectSeconds: 90 });
  });

  it('makes up for a reboot that was armed and did not happen', async () => {
    await armNew();
    expect(await settleAtStart(await host.ports())).toBe('update to rendered-worker-new');

    await host.boot();

    expect(await settleAtStart(await host.ports())).toBeUndefined();
    expect(await awaitsConfirmation(await host.ports())).toEqual({});
  });

  it('releases the deployment when the process died before it had', async () => {
    await armNew();
    // As if it had died between the mark and the release.
    const { journal, os } = await host.ports();
    await os.discard();
    const opened = await journal.open();
    await os.stage('quay.io/os@sha256:2', (await host.ports()).context());
    expect((await os.status()).staged?.locked).toBe(true);
    const { id } = (await os.status()).staged ?? { id: '' };
    const { bootId } = await os.status();
    await opened?.mark({ kind: 'armed', bootId, expected: id });

    expect(await settleAtStart(await host.ports())).toBe('update to rendered-worker-new');
    await host.boot();

    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:2');
  });

  it('ends the way back that was begun before it reboots', async () => {
    await armNew();
    await host.boot();
    const { journal, os } = await host.ports();
    const opened = await journal.open();
    await opened?.mark({ kind: 'goingBack', bootId: (await os.status()).bootId });
    expect(motd()).toBe('new');

    expect(await settleAtStart(await host.ports())).toBe('the update is taken back');
    expect(motd()).toBe('old');
    await host.boot();
    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
  });

  it('takes the files back before anything reads them when the old deployment came up', async () => {
    const bootId = await armNew();
    await (await host.ports()).os.discard();
    await host.boot();

    expect(await settleAtStart(await host.ports())).toBeUndefined();
    expect(motd()).toBe('old');
    const activities = await host.activities();
    await expect(
      activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
    await activities.verifyBack(orderFor(NEW, 'verifyBack'));
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('goes back alone when nobody can be reached, and reboots once', async () => {
    const bootId = await armNew();
    await host.boot();
    await goBackAlone(await host.ports());
    expect(host.reboots.at(-1)).toBe('the update is taken back');
    expect(await settleAtStart(await host.ports())).toBe('the update is taken back');
    await host.boot();

    const ports = await host.ports();
    expect(await settleAtStart(ports)).toBeUndefined();
    expect(await awaitsConfirmation(ports)).toBeUndefined();
    expect(motd()).toBe('old');
    expect((await ports.os.status()).booted.image).toBe('quay.io/os@sha256:1');
    const activities = await host.activities();
    await expect(
      activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
  });

  it('finishes an update that was left verified, when the next order comes', async () => {
    await armNew();
    await host.boot();

    const prepared = await (
      await host.activities()
    ).prepareUpdate(orderFor(NEW, 'prepareUpdate', { orderId: 'later/p' }));

    expect(prepared).toMatchObject({
      alreadyOnTarget: true,
      currentConfig: 'rendered-worker-new',
      settled: 'finished the update to rendered-worker-new, which was left verified',
    });
  });

  it('takes over an update that was applied, when the next order wants the same', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));

    const prepared = await activities.prepareUpdate(
      orderFor(NEW, 'prepareUpdate', { orderId: 'later/p' }),
    );

    expect(prepared).toMatchObject({
      alreadyOnTarget: false,
      settled: 'took over the update to rendered-worker-new',
      plan: { reboot: true },
    });
    expect(await activities.applyUpdate(orderFor(NEW, 'x', { orderId: 'later/a' }))).toMatchObject({
      files: 1,
    });
  });
});
