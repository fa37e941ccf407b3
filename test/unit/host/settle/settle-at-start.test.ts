import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { unconfirmedAfterReboot, goBackAlone } from '../../../../host/confirm/unconfirmed';
import { rebootIsDue, settleAtStart } from '../../../../host/settle/settle-at-start';
import type { HostPorts } from '../../../../host/ports';
import { fail } from '../../../../core/errors';
import { aConfig, aFile, aHost, bootInto, orderFor, type TestHost } from '../a-host';

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
    await bootInto(host, OLD);
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

    expect(await settleAtStart(ports)).toEqual({});
    expect(await unconfirmedAfterReboot(ports)).toBeUndefined();
  });

  it('has to commit after the boot of an update, and to reach Temporal in the time that was ordered until then', async () => {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    const order = { ...orderFor(NEW, 'armReboot'), reconnectSeconds: 90 };
    await activities.armReboot(order);
    expect(await unconfirmedAfterReboot(await host.ports())).toBeUndefined();

    await host.boot();
    expect(await unconfirmedAfterReboot(await host.ports())).toEqual({ reconnectSeconds: 90 });
    await (await host.activities()).verifyUpdate(orderFor(NEW, 'verifyUpdate'));
    expect(await unconfirmedAfterReboot(await host.ports())).toMatchObject({
      reconnectSeconds: 90,
    });
    await (await host.activities()).commitUpdate(orderFor(NEW, 'commitUpdate'));
    expect(await unconfirmedAfterReboot(await host.ports())).toBeUndefined();

    await host.boot();
    expect(await unconfirmedAfterReboot(await host.ports())).toBeUndefined();
  });

  it('makes up for a reboot that was armed and did not happen', async () => {
    await armNew();
    expect((await settleAtStart(await host.ports())).reboot).toBe('update to rendered-worker-new');

    await host.boot();

    expect(await settleAtStart(await host.ports())).toEqual({});
    expect(await unconfirmedAfterReboot(await host.ports())).toEqual({ reconnectSeconds: 600 });
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
    await opened?.mark({ kind: 'armed', bootId, expected: id, notAfter: '2030-01-01T01:00:00Z' });

    expect((await settleAtStart(await host.ports())).reboot).toBe('update to rendered-worker-new');
    await host.boot();

    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:2');
  });

  it.each<[string, () => Promise<void>, string]>([
    ['is gone', async () => undefined, 'nothing is staged'],
    [
      'is another one',
      async () => {
        const { os, context } = await host.ports();
        await os.stage('quay.io/os@sha256:3', context());
        await os.finalize();
      },
      'staged is simulated-3 (quay.io/os@sha256:3)',
    ],
  ])('does not boot anything else when what the reboot was for %s', async (_, stage, seen) => {
    const bootId = await armNew();
    await (await host.ports()).os.discard();
    await stage();
    host.reboots.length = 0;

    const { what, reboot } = await settleAtStart(await host.ports());

    expect(reboot).toBeUndefined();
    expect(what).toContain('its reboot is for deployment simulated-2, but');
    expect(what).toContain(seen);
    expect(motd()).toBe('old');
    expect((await (await host.ports()).os.status()).staged).toBeUndefined();

    // The update repeats everything, and reboots once.
    const activities = await host.activities();
    const verifying = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId };
    await expect(activities.verifyUpdate(verifying)).rejects.toMatchObject({
      name: 'NotYetRebooted',
      message: expect.stringContaining('its reboot is for deployment') as string,
    });
    await expect(activities.verifyUpdate(verifying)).rejects.toMatchObject({
      name: 'NotYetRebooted',
    });
    expect(host.reboots).toEqual(['update to rendered-worker-new']);
    await host.boot();
    await (await host.activities()).verifyUpdate(verifying);
    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:2');
    expect(motd()).toBe('new');
  });

  describe('after the order of its reboot has expired', () => {
    const late = new Date('2030-01-01T01:00:00.001Z');
    const orderOf = (run: string, step: string, notAfter: string) =>
      orderFor(NEW, step, { orderId: `update-node/worker-1/${run}/${step}`, notAfter });

    it('does not boot: it takes the update back, and says why', async () => {
      await armNew();
      host.clock.now = late;

      const { what, reboot } = await settleAtStart(await host.ports());

      expect(reboot).toBeUndefined();
      expect(what).toBe(
        'rolled back the update to rendered-worker-new: the order to reboot expired at ' +
          '2030-01-01T01:00:00Z; the clock of this host shows 2030-01-01T01:00:00.001Z',
      );
      expect(motd()).toBe('old');
      const ports = await host.ports();
      expect((await ports.os.status()).staged).toBeUndefined();
      // A corrected clock does not start the wait again.
      host.clock.now = new Date('2030-01-01T00:00:00Z');
      expect((await settleAtStart(ports)).reboot).toBeUndefined();
      expect(motd()).toBe('old');
    });

    it('makes all of it again for an update that still waits for the machine', async () => {
      const rebootedFrom = await armNew();
      host.clock.now = late;
      await settleAtStart(await host.ports());
      host.reboots.length = 0;
      const waiting = orderOf('run-1', 'verifyUpdate', '2030-01-01T02:00:00Z');

      await expect(
        (await host.activities()).verifyUpdate({ ...waiting, rebootedFrom }),
      ).rejects.toMatchObject({ name: 'NotYetRebooted' });

      expect(host.reboots).toEqual(['update to rendered-worker-new']);
      // Only the expiry of the last order that armed it counts.
      expect((await settleAtStart(await host.ports())).reboot).toBe(
        'update to rendered-worker-new',
      );
      await host.boot();
      await (await host.activities()).verifyUpdate({ ...waiting, rebootedFrom });
      expect(motd()).toBe('new');
    });

    it('reboots for no order that has expired as well, and can be rolled back', async () => {
      const rebootedFrom = await armNew();
      host.clock.now = late;
      await settleAtStart(await host.ports());
      host.reboots.length = 0;
      const activities = await host.activities();

      await expect(
        activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom }),
      ).rejects.toMatchObject({
        name: 'OrderRefused',
        message: expect.stringContaining('the clock of this host shows') as string,
      });
      expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
      await activities.verifyBack(orderFor(NEW, 'verifyBack'));

      expect(host.reboots).toEqual([]);
      expect(motd()).toBe('old');
      expect(await (await host.ports()).journal.open()).toBeUndefined();
    });

    it('boots all the same when another update has armed it anew', async () => {
      await armNew();
      const activities = await host.activities();
      await activities.prepareUpdate(orderOf('run-2', 'prepareUpdate', '2030-01-01T02:00:00Z'));
      await activities.applyUpdate(orderOf('run-2', 'applyUpdate', '2030-01-01T02:00:00Z'));
      await activities.armReboot(orderOf('run-2', 'armReboot', '2030-01-01T02:00:00Z'));
      host.clock.now = late;

      expect((await settleAtStart(await host.ports())).reboot).toBe(
        'update to rendered-worker-new',
      );
    });

    it('keeps what has booted in time, whatever the clock says then', async () => {
      await armNew();
      await host.boot();
      host.clock.now = late;

      expect(await settleAtStart(await host.ports())).toEqual({});
      expect(motd()).toBe('new');
    });
  });

  it('drops what somebody staged beside an update that stages nothing', async () => {
    const files = { storage: { files: [aFile('/etc/motd', 'changed')] } };
    const sameOs = aConfig('rendered-worker-files', { ...OLD.spec, config: files });
    const other = await aHost([OLD, sameOs]);
    try {
      await bootInto(other, OLD);
      const activities = await other.activities();
      await activities.prepareUpdate(orderFor(sameOs, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(sameOs, 'applyUpdate'));
      await activities.armReboot(orderFor(sameOs, 'armReboot'));
      const { os, context } = await other.ports();
      await os.stage('quay.io/os@sha256:3', context());
      await os.finalize();

      const settled = await settleAtStart(await other.ports());

      expect(settled.reboot).toBe('update to rendered-worker-files');
      expect((await (await other.ports()).os.status()).staged).toBeUndefined();
    } finally {
      other.remove();
    }
  });

  it('ends the rollback that was begun before it reboots', async () => {
    await armNew();
    await host.boot();
    const { journal, os } = await host.ports();
    const opened = await journal.open();
    await opened?.mark({ kind: 'goingBack', bootId: (await os.status()).bootId, due: true });
    expect(motd()).toBe('new');

    expect((await settleAtStart(await host.ports())).reboot).toBe('the update is rolled back');
    expect(motd()).toBe('old');
    await host.boot();
    expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
  });

  describe('of a rollback that an order began and did not end', () => {
    /** On the new deployment, in service again: its update gave up, and a person uncordoned the node. */
    async function failToGoBack(): Promise<HostPorts> {
      await armNew();
      await host.boot();
      const ports = await host.ports();
      const rollback = async (): Promise<never> => {
        throw fail('RollbackFailed', 'no previous deployment');
      };
      const broken = createHostActivities({ ...ports, os: { ...ports.os, rollback } });
      await expect(broken.goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject({
        name: 'RollbackFailed',
      });
      return host.ports();
    }

    const withoutReboot = {
      what: 'continued to roll back the update to rendered-worker-new; its reboot waits for an order',
    };

    it('puts the files back and does not reboot: the node may be in service', async () => {
      const ports = await failToGoBack();

      expect(await settleAtStart(ports)).toEqual(withoutReboot);
      expect(await settleAtStart(ports)).toEqual(withoutReboot);
      expect(await rebootIsDue(ports)).toBe(false);
      expect(motd()).toBe('old');
      expect(host.reboots).toEqual(['update to rendered-worker-new']);
    });

    /** Like `failToGoBack`, but the state of the operating system is unreadable. */
    async function failUnseen(boot?: { broken: boolean }): Promise<HostPorts> {
      await armNew();
      await host.boot(boot);
      const ports = await host.ports();
      const { bootId } = await ports.os.status();
      const status = async (): Promise<never> => {
        throw fail('OsCommandFailed', 'no answer');
      };
      const deaf = {
        ...ports,
        os: { ...ports.os, status },
        vitals: {
          bootId: async () => bootId,
          commandLine: async () => undefined,
          kubeletHealthy: async () => undefined,
        },
        pause: async () => undefined,
      };
      const back = createHostActivities(deaf).goBack(orderFor(NEW, 'goBack'));
      await expect(back).rejects.toMatchObject({ name: 'OsCommandFailed' });
      return host.ports();
    }

    it('nor when its operating system did not tell how it is', async () => {
      const ports = await failUnseen();

      expect(await settleAtStart(ports)).toEqual(withoutReboot);
      // The machine reboots by itself, into the deployment of the rollback.
      await host.boot();
      expect((await settleAtStart(await host.ports())).reboot).toBeUndefined();
      expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
    });

    it('nor on the old deployment, to which the boot loader had fallen back', async () => {
      const ports = await failUnseen({ broken: true });

      expect((await settleAtStart(ports)).reboot).toBeUndefined();
      expect(motd()).toBe('old');
      const back = await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
      expect(back.rebooting).toBe(true);
    });

    it('nor when nobody has asked for the reboot of its way back', async () => {
      await armNew();
      await host.boot();
      const ports = await host.ports();
      const { bootId } = await ports.os.status();
      await (await ports.journal.open())?.mark({ kind: 'goingBack', bootId });

      expect(await settleAtStart(ports)).toEqual(withoutReboot);
    });

    it('reboots when the order is repeated, also if that process dies at once', async () => {
      await failToGoBack();

      const back = await (await host.activities()).goBack(orderFor(NEW, 'goBack'));

      expect(back.rebooting).toBe(true);
      const ports = await host.ports();
      expect(await rebootIsDue(ports)).toBe(true);
      expect((await settleAtStart(ports)).reboot).toBe('the update is rolled back');
      await host.boot();
      expect((await (await host.ports()).os.status()).booted.image).toBe('quay.io/os@sha256:1');
      const verifying = { ...orderFor(NEW, 'verifyBack'), rebootedFrom: back.bootId };
      await (await host.activities()).verifyBack(verifying);
    });

    it('reboots when a later update takes it back after a drain', async () => {
      await failToGoBack();
      const later = (step: string) => orderFor(NEW, step, { orderId: `update/2/${step}` });
      const activities = await host.activities();

      const prepared = await activities.prepareUpdate(later('prepareUpdate'));
      expect(prepared).toMatchObject({ unsettled: true, plan: { drain: true, reboot: true } });
      expect(await activities.goBack(later('goBack'))).toMatchObject({ rebooting: true });
      expect(await rebootIsDue(await host.ports())).toBe(true);
    });

    it('goes on with it, and reboots, in any other boot: the node has lost its pods anyway', async () => {
      await failToGoBack();
      await host.boot();

      const ports = await host.ports();
      expect((await settleAtStart(ports)).reboot).toBe('the update is rolled back');
      expect(await rebootIsDue(ports)).toBe(true);
    });

    it('reboots all the same when nobody had ordered it: nobody would repeat it', async () => {
      await armNew();
      await host.boot();
      const ports = await host.ports();
      const rollback = async (): Promise<never> => {
        throw new Error('killed');
      };
      const dying = { ...ports, os: { ...ports.os, rollback } };
      await expect(goBackAlone(dying, 'nobody was reached')).rejects.toThrow('killed');

      expect((await settleAtStart(await host.ports())).reboot).toBe('the update is rolled back');
    });
  });

  it('takes the files back before anything reads them when the old deployment came up', async () => {
    const bootId = await armNew();
    await host.boot({ broken: true });

    expect((await settleAtStart(await host.ports())).what).toMatch(/booted deployment .* again/);
    expect(motd()).toBe('old');
    // Programs that had started on the new files start again.
    await host.boot();
    expect((await settleAtStart(await host.ports())).reboot).toBeUndefined();
    const activities = await host.activities();
    await expect(
      activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
    await activities.verifyBack(orderFor(NEW, 'verifyBack'));
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it.each(['start', 'next order'])('undoes a repair that was cut off, at the %s', async (when) => {
    const ports = await host.ports();
    const { journal, os } = ports;
    const { bootId, booted } = await os.status();
    const order = orderFor(NEW, 'prepareUpdate');
    const { plan } = await (await host.activities()).prepareUpdate(order);
    await os.discard();
    const cut = await journal.begin('repair/1', {
      orderId: 'repair/1',
      node: ports.node,
      driver: ports.os.name,
      target: OLD.reference,
      previousDeployment: booted.id,
      before: { bootId, kernelArguments: [], extensions: [], kernelType: 'default' },
      repair: true,
      plan: { ...plan, summary: 'repair of 1 drifted path' },
    });
    await cut.record(['/etc/motd']);
    writeFileSync(join(host.root, 'etc/motd'), 'half repaired');
    await cut.mark({ kind: 'applied' });

    const what =
      when === 'start'
        ? (await settleAtStart(await host.ports())).what
        : (await (await host.activities()).prepareUpdate({ ...order, orderId: 'later/p' })).settled;

    expect(what).toBe('undid an unfinished repair of 1 drifted path');
    expect(motd()).toBe('old');
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('rolls back alone when nobody can be reached, and reboots once', async () => {
    const bootId = await armNew();
    await host.boot();
    await goBackAlone(await host.ports(), 'nobody was reached');
    expect(host.reboots.at(-1)).toBe('the update is rolled back');
    expect((await settleAtStart(await host.ports())).reboot).toBe('the update is rolled back');
    await host.boot();

    const ports = await host.ports();
    expect(await settleAtStart(ports)).toEqual({
      what: 'rolled back the update to rendered-worker-new: nobody was reached',
    });
    expect(await unconfirmedAfterReboot(ports)).toBeUndefined();
    expect(motd()).toBe('old');
    expect((await ports.os.status()).booted.image).toBe('quay.io/os@sha256:1');
    const activities = await host.activities();
    await expect(
      activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });
    expect(await activities.goBack(orderFor(NEW, 'goBack'))).toMatchObject({ rebooting: false });
  });

  it('finishes an update that was left verified, when the Node says that it is on it', async () => {
    const rebootedFrom = await armNew();
    await host.boot();
    const verifying = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await (await host.activities()).verifyUpdate(verifying);

    const order = { orderId: 'later/p', currentConfig: NEW.reference };
    const prepared = await (
      await host.activities()
    ).prepareUpdate(orderFor(NEW, 'prepareUpdate', order));

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
