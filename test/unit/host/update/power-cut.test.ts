/**
 * A machine loses power, or is rebooted by a person, in each phase of an update. The kubelet then starts on one
 * whole config with its own operating system; and the update goes on or is undone, as far as a host can tell.
 */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { unconfirmedAfterReboot, goBackAlone } from '../../../../host/confirm/unconfirmed';
import { rebootIsDue, settleAtStart } from '../../../../host/settle/settle-at-start';
import { fail } from '../../../../core/errors';
import { aConfig, aFile, orderFor } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { motdOf } from '../an-os-update';
import {
  NEW,
  NEW_IMAGE,
  OLD,
  OLD_IMAGE,
  ON_NEW,
  ON_OLD,
  orderUpTo,
  pictureOf,
  serviceWith,
} from './whole-update';

/** Takes no reboot: a service that reads it is reloaded. */
const RELOADED = aConfig('rendered-worker-reloaded', {
  osImageURL: OLD_IMAGE,
  config: {
    storage: { files: [aFile('/etc/motd', 'reloaded')] },
    systemd: { units: [serviceWith('old')] },
  },
});
/** Other files on the same operating system. */
const REBOOTED = aConfig('rendered-worker-rebooted', {
  osImageURL: OLD_IMAGE,
  config: {
    storage: { files: [aFile('/etc/motd', 'rebooted')] },
    systemd: { units: [serviceWith('old')] },
  },
});
const RELOAD = {
  files: [
    { path: '/etc/motd', actions: [{ type: 'Reload', reload: { serviceName: 'a.service' } }] },
  ],
} as const;

let host: OstreeHost;
beforeEach(async () => {
  host = await anOstreeHost(OLD, [NEW, RELOADED, REBOOTED]);
});
afterEach(() => host.remove());

const motd = () => motdOf(host);
const picture = async () => pictureOf(host);
const upTo = async (last: Parameters<typeof orderUpTo>[1]) => orderUpTo(host, last);

const BOOT_COMPLETE = 'ostree-boot-complete.service';
const FAILED = {
  ...{ load: 'loaded', active: 'failed', sub: 'failed', result: 'exit-code', type: 'oneshot' },
  ...{ restarts: 0, exitStatus: 1, restartPolicy: 'no', upMs: 0, hasRun: true },
} as const;

/** The host after a rollback: in its old state, with nothing left of the update. */
async function expectAsBefore(): Promise<void> {
  expect(await picture()).toEqual(ON_OLD);
  const { staged, rollback } = await host.status();
  expect(staged).toBeUndefined();
  expect(rollback?.image).not.toBe(NEW_IMAGE);
  expect(await (await host.ports()).journal.open()).toBeUndefined();
}

async function goBackToTheEnd(): Promise<void> {
  const { rebooting, bootId } = await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
  if (rebooting) {
    await host.reboot();
    await host.settle();
  }
  const order = orderFor(NEW, 'verifyBack');
  await (
    await host.activities()
  ).verifyBack(rebooting ? { ...order, rebootedFrom: bootId } : order);
}

describe('a power cut', () => {
  it('after staging: nothing was disturbed, and the update goes on', async () => {
    await upTo('prepareUpdate');
    await host.powerCut();

    expect(await host.settle()).toEqual({});
    expect(await picture()).toEqual(ON_OLD);
    await upTo('armReboot');
    await host.reboot();
    expect(await host.settle()).toEqual({});
    expect(await picture()).toEqual(ON_NEW);
  });

  it('while files are written: they are put back before the kubelet, and written again', async () => {
    await upTo('prepareUpdate');
    host.failWrites('/etc/systemd/system/a.service');
    await expect(upTo('applyUpdate')).rejects.toMatchObject({ name: 'ApplyFailed' });
    expect(motd()).toBe('new');
    await host.powerCut();

    expect((await host.settle()).what).toMatch(/rebooted by itself in the middle/);
    expect(await picture()).toEqual(ON_OLD);
    host.failWrites(undefined);
    await upTo('armReboot');
    await host.reboot();
    expect(await picture()).toEqual(ON_NEW);
  });

  it('after everything was written: put back, and done again when the reboot is armed', async () => {
    await upTo('applyUpdate');
    expect(motd()).toBe('new');
    await host.powerCut();

    expect((await host.settle()).what).toMatch(/rolled back the update/);
    expect(await picture()).toEqual(ON_OLD);
    const activities = await host.activities();
    const { bootId } = await activities.armReboot(orderFor(NEW, 'armReboot'));
    await host.reboot();
    expect(await host.settle()).toEqual({});
    await (
      await host.activities()
    ).verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId });
    expect(await picture()).toEqual(ON_NEW);
  });

  it('after arming: the old deployment gets its files back, and everything is done once more', async () => {
    const rebootedFrom = await upTo('armReboot');
    await host.powerCut();

    expect((await host.settle()).what).toMatch(/went down before deployment .* was in place/);
    expect(await picture()).toEqual(ON_OLD);
    // Only orders to write and to reboot say how long the machine may be without Temporal.
    const { reconnectSeconds, ...proof } = orderFor(NEW, 'verifyUpdate');
    const order = { ...proof, rebootedFrom };
    for (const text of [/reboots again: the machine went down before/, /is to reboot again/]) {
      await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
        name: 'NotYetRebooted',
        message: expect.stringMatching(text) as string,
      });
    }
    expect(host.reboots).toHaveLength(2);
    const journal = await (await host.ports()).journal.open();
    expect(journal?.header.reconnectSeconds).toBe(reconnectSeconds);
    await host.reboot();
    expect(await host.settle()).toEqual({});
    await (await host.activities()).verifyUpdate(order);
    expect(await picture()).toEqual(ON_NEW);
  });

  it('after arming, again and again: the update is undone', async () => {
    const rebootedFrom = await upTo('armReboot');
    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    for (let cut = 1; cut <= 2; cut += 1) {
      await host.powerCut();
      await host.settle();
      await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
        name: 'NotYetRebooted',
      });
    }
    await host.powerCut();
    await host.settle();

    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'WrongDeployment',
    });
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('is distinguished from a shutdown in which ostree failed: that is not tried again', async () => {
    const rebootedFrom = await upTo('armReboot');
    await host.powerCut();
    const ports = await host.ports();
    const state = async (unit: string) => (unit === BOOT_COMPLETE ? FAILED : undefined);
    const settle = () => settleAtStart({ ...ports, systemd: { ...ports.systemd, state } });

    expect((await settle()).what).toMatch(/ostree could not put deployment .* in place as the/);
    // The next boot has no trace of it.
    await host.reboot();
    expect(await host.settleOnce()).not.toHaveProperty('reboot');
    expect(await picture()).toEqual(ON_OLD);

    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'WrongDeployment',
      message: expect.stringMatching(/ostree could not put .* "journalctl /) as string,
    });
    expect(host.reboots).toHaveLength(1);
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('the same where nobody has taken away what ostree wrote down: that is said, and taken away', async () => {
    const rebootedFrom = await upTo('armReboot');
    const stamp = join(host.root, 'boot/ostree/finalize-failure.stamp');
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, 'During /etc merge: No space left on device\n');
    await host.powerCut();
    await host.settle();

    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'WrongDeployment',
      message: expect.stringMatching(/went down: During \/etc merge: No space left/) as string,
    });
    expect(host.reboots).toHaveLength(1);
    expect(existsSync(stamp)).toBe(false);
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('before the reboot is armed: what ostree wrote down is of another shutdown', async () => {
    await upTo('applyUpdate');
    const stamp = join(host.root, 'boot/ostree/finalize-failure.stamp');
    mkdirSync(dirname(stamp), { recursive: true });
    writeFileSync(stamp, 'of somebody else\n');
    await host.powerCut();

    expect((await host.settle()).what).toMatch(
      /rolled back .*: the machine rebooted by itself in the middle/,
    );
    expect(existsSync(stamp)).toBe(true);
  });

  it('while everything is done once more: it is done once more', async () => {
    const rebootedFrom = await upTo('armReboot');
    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await host.powerCut();
    await host.settle();
    host.failWrites('/etc/systemd/system/a.service');
    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'ApplyFailed',
    });
    await host.powerCut();
    host.failWrites(undefined);

    await host.settle();
    expect(await picture()).toEqual(ON_OLD);
    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'NotYetRebooted',
    });
    await host.reboot();
    await (await host.activities()).verifyUpdate(order);
    expect(await picture()).toEqual(ON_NEW);
  });

  it('is distinguished from a deployment that does not come up: that one is not tried again', async () => {
    const rebootedFrom = await upTo('armReboot');
    await host.boot({ broken: true });
    expect((await host.status()).pending).toBeDefined();

    expect((await host.settle()).what).toMatch(/booted deployment .* again/);
    // No later boot starts it.
    expect((await host.status()).pending).toBeUndefined();
    expect(await picture()).toEqual(ON_OLD);
    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'WrongDeployment',
    });
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('after the reboot: the new deployment is adopted, however often it boots', async () => {
    const bootId = await upTo('armReboot');
    await host.reboot();
    await host.powerCut();

    expect(await host.settle()).toEqual({});
    expect(await picture()).toEqual(ON_NEW);
    const activities = await host.activities();
    await activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId });
    await activities.commitUpdate(orderFor(NEW, 'commitUpdate'));
    await host.powerCut();
    expect(await host.settle()).toEqual({});
    expect(await picture()).toEqual(ON_NEW);
  });

  it('during rollback, before the old deployment was chosen: goes on, boots, and is as before', async () => {
    await upTo('armReboot');
    await host.reboot();
    const { journal } = await host.ports();
    const { bootId } = await host.status();
    await (await journal.open())?.mark({ kind: 'goingBack', bootId });
    await host.powerCut();
    expect(await picture()).toEqual(ON_NEW);

    expect((await host.settle()).reboot).toBe('the update is rolled back');
    expect((await host.settle()).what).toMatch(/rolled back the update/);
    expect(await picture()).toEqual(ON_OLD);
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('in the middle of an update without a reboot: what is whole is adopted', async () => {
    const order = (step: string) => orderFor(RELOADED, step, { disruptionPolicies: RELOAD });
    const activities = await host.activities();
    const { plan } = await activities.prepareUpdate(order('prepareUpdate'));
    expect(plan.reboot).toBe(false);
    await activities.applyUpdate(order('applyUpdate'));
    await host.powerCut();

    expect((await host.settle()).what).toMatch(/adopted the update/);
    expect(motd()).toBe('reloaded');
    const next = await host.activities();
    await next.performServiceActions(order('performServiceActions'));
    await next.verifyUpdate(order('verifyUpdate'));
    await next.commitUpdate(order('commitUpdate'));
    expect(motd()).toBe('reloaded');
  });

  it('the same, and it is ordered back: services read the old files again', async () => {
    const order = await writeReloaded();
    await host.powerCut();
    expect((await host.settle()).what).toMatch(/adopted the update/);
    // A process that starts again records it once.
    await host.settle();
    expect(host.serviceActions).toEqual([]);

    const activities = await host.activities();
    expect(await activities.goBack(order('goBack'))).toMatchObject({ rebooting: false });

    expect(host.serviceActions).toEqual([{ action: 'reload', service: 'a.service' }]);
    await activities.verifyBack(order('verifyBack'));
    expect(await picture()).toEqual(ON_OLD);
  });

  it('the same: the boot has to be confirmed until its commit, as one that was ordered', async () => {
    const awaited = async () => unconfirmedAfterReboot(await host.ports());
    const order = await writeReloaded();
    expect(await awaited()).toBeUndefined();

    await host.powerCut();
    await host.settle();
    expect(await awaited()).toEqual({ reconnectSeconds: 600 });
    await (await host.activities()).verifyUpdate(order('verifyUpdate'));
    expect(await awaited()).toMatchObject({ isVerified: true });
    await (await host.activities()).commitUpdate(order('commitUpdate'));
    expect(await awaited()).toBeUndefined();
  });

  it('the same, and nobody is reached: the machine rolls back alone, and boots once', async () => {
    const order = await writeReloaded();
    await host.powerCut();
    await host.settle();

    await goBackAlone(await host.ports(), 'nobody was reached');
    expect(motd()).toBe('old');
    // A process that dies before the boot does not forget it: programs that started on the new files still run.
    expect((await host.settleOnce()).reboot).toBe('the update is rolled back');
    await host.reboot();

    const { what, reboot } = await host.settleOnce();
    expect(what).toMatch(/rolled back .*: nobody was reached/);
    expect(reboot).toBeUndefined();
    expect(await unconfirmedAfterReboot(await host.ports())).toBeUndefined();
    const activities = await host.activities();
    await expect(activities.verifyUpdate(order('verifyUpdate'))).rejects.toMatchObject({
      message: expect.stringContaining('nobody was reached') as string,
    });
    expect(await activities.goBack(order('goBack'))).toMatchObject({ rebooting: false });
    await activities.verifyBack(order('verifyBack'));
    expect(await picture()).toEqual(ON_OLD);
  });
});

/** An update without a reboot, up to its files. */
async function writeReloaded() {
  const order = (step: string) => orderFor(RELOADED, step, { disruptionPolicies: RELOAD });
  const activities = await host.activities();
  await activities.prepareUpdate(order('prepareUpdate'));
  await activities.applyUpdate(order('applyUpdate'));
  return order;
}

describe('an order to reboot that fails', () => {
  it('leaves no reboot behind, and arms when it is repeated', async () => {
    await upTo('applyUpdate');
    const ports = await host.ports();
    const finalize = () => Promise.reject(fail('OsCommandFailed', 'the disk is full'));
    const os = { ...ports.os, finalize };
    const failing = createHostActivities({ ...ports, os, pause: async () => undefined });
    const order = orderFor(NEW, 'armReboot');
    await expect(failing.armReboot(order)).rejects.toMatchObject({ name: 'OsCommandFailed' });

    // A process that starts now, perhaps hours later, on a node in service.
    expect(await host.settleOnce()).toEqual({});
    expect(await rebootIsDue(ports)).toBe(false);
    expect(host.reboots).toEqual([]);

    await (await host.activities()).armReboot({ ...order, orderId: `${order.orderId}-again` });
    expect(await rebootIsDue(ports)).toBe(true);
    expect(host.reboots).toHaveLength(1);
    await host.reboot();
    expect(await host.settle()).toEqual({});
    expect(await picture()).toEqual(ON_NEW);
  });

  it('after a power cut: leaves none behind either, and is armed once more', async () => {
    const rebootedFrom = await upTo('armReboot');
    await host.powerCut();
    await host.settle();
    const ports = await host.ports();
    const finalize = () => Promise.reject(fail('OsCommandFailed', 'the disk is full'));
    const os = { ...ports.os, finalize };
    const failing = createHostActivities({ ...ports, os, pause: async () => undefined });
    const order = { ...orderFor(NEW, 'verifyUpdate'), rebootedFrom };
    await expect(failing.verifyUpdate(order)).rejects.toMatchObject({ name: 'OsCommandFailed' });
    expect(await host.settleOnce()).toEqual({});
    expect(await rebootIsDue(ports)).toBe(false);

    await expect((await host.activities()).verifyUpdate(order)).rejects.toMatchObject({
      name: 'NotYetRebooted',
    });
    expect(await rebootIsDue(ports)).toBe(true);
    await host.reboot();
    await (await host.activities()).verifyUpdate(order);
    expect(await picture()).toEqual(ON_NEW);
  });
});

describe('the rollback', () => {
  it('undoes the /etc of the old deployment too, before the kubelet, and drops the new one', async () => {
    const bootId = await upTo('armReboot');
    await host.reboot();
    const back = await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
    expect(back.rebooting).toBe(true);
    await host.reboot();
    // Files from before the update's reboot are still in the /etc of the old deployment.
    expect(motd()).toBe('new');

    expect((await host.settle()).what).toMatch(/rolled back the update/);
    expect(await picture()).toEqual(ON_OLD);
    await (
      await host.activities()
    ).verifyBack({ ...orderFor(NEW, 'verifyBack'), rebootedFrom: bootId });
    await expectAsBefore();
  });

  it('boots once more when the old deployment came up with files of the update', async () => {
    await upTo('armReboot');
    await host.reboot();
    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
    await host.reboot();
    const { bootId } = await host.status();

    expect((await host.settleOnce()).reboot).toMatch(/start again/);
    expect(motd()).toBe('old');
    await host.reboot();
    expect((await host.status()).bootId).not.toBe(bootId);
    const second = await host.settleOnce();
    expect(second.what).toMatch(/rolled back the update/);
    expect(second.reboot).toBeUndefined();
    await goBackToTheEnd();
    await expectAsBefore();
  });

  it('needs no other boot for what the same boot wrote', async () => {
    await upTo('applyUpdate');
    const { journal } = await host.ports();
    await (await journal.open())?.mark({ kind: 'goingBack' });

    const settled = await host.settleOnce();

    expect(motd()).toBe('old');
    expect(settled.what).toMatch(/rolled back the update/);
    expect(settled.reboot).toBeUndefined();
  });

  it('ends somewhere: a machine that never comes up in its old deployment is reported', async () => {
    await upTo('armReboot');
    await host.reboot();
    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
    const failingBoot = async () => {
      await host.boot({ broken: true });
      return host.settleOnce();
    };
    expect((await failingBoot()).reboot).toBe('the update is rolled back');
    expect((await failingBoot()).reboot).toBe('the update is rolled back');

    await expect(failingBoot()).rejects.toMatchObject({ name: 'RollbackFailed' });
  });

  it('is not verified while the operating system differs from what was before', async () => {
    await upTo('applyUpdate');
    const activities = await host.activities();
    await activities.goBack(orderFor(NEW, 'goBack'));
    host.changeBooted({ kernelArguments: ['quiet'] });

    const next = await host.activities();
    await expect(next.verifyBack(orderFor(NEW, 'verifyBack'))).rejects.toMatchObject({
      name: 'VerifyFailed',
      message: expect.stringContaining('kernel arguments was [], is [quiet]') as string,
    });
  });
});

describe('a deployment that a person boots', () => {
  it('in the middle of an update is reported and left alone', async () => {
    const bootId = await upTo('armReboot');
    await host.reboot();
    await host.bootOther('by-hand', 'os@sha256:3');
    const before = await picture();

    expect((await host.settle()).foreign).toMatch(/booted deployment by-hand.*a person chose it/);
    const activities = await host.activities();
    await expect(
      activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId }),
    ).rejects.toMatchObject({ name: 'WrongDeployment' });
    await expect(activities.goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject({
      name: 'WrongDeployment',
    });
    expect(await picture()).toEqual(before);
    expect(host.reboots).toEqual(['update to rendered-worker-new']);
  });

  it('before the reboot was armed is left alone too', async () => {
    await upTo('applyUpdate');
    await host.bootOther('by-hand', 'os@sha256:3');
    const before = await picture();

    expect((await host.settle()).foreign).toMatch(/booted deployment by-hand.*a person chose it/);
    await expect((await host.activities()).goBack(orderFor(NEW, 'goBack'))).rejects.toMatchObject({
      name: 'WrongDeployment',
    });
    expect(await picture()).toEqual(before);
  });

  it('after an update, as by a manual rollback, is reported by name and left alone', async () => {
    const bootId = await upTo('armReboot');
    await host.reboot();
    const activities = await host.activities();
    await activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId });
    await activities.commitUpdate(orderFor(NEW, 'commitUpdate'));
    const { rollback } = await host.status();
    await (await host.ports()).os.rollback(rollback?.id ?? '');
    await host.reboot();
    const before = await picture();

    expect(await host.settle()).toEqual({});
    const order = orderFor(NEW, 'prepareUpdate', { orderId: 'later/p' });
    await expect((await host.activities()).prepareUpdate(order)).rejects.toMatchObject({
      name: 'WrongDeployment',
      message: expect.stringMatching(/rendered-worker-new was committed on/) as string,
    });
    expect(await picture()).toEqual(before);
  });

  it('of the same image with the same record is as good as the right one', async () => {
    await host.bootOther('layered-by-hand', OLD_IMAGE);

    const order = orderFor(OLD, 'prepareUpdate', { orderId: 'later/p' });
    expect(await (await host.activities()).prepareUpdate(order)).toMatchObject({
      alreadyOnTarget: true,
    });
  });
});

describe('what is staged when the reboot is armed', () => {
  const STRANGE = 'os@sha256:3';

  async function stageByHand(): Promise<void> {
    const { os, context } = await host.ports();
    await os.discard();
    await os.stage(STRANGE, context());
  }

  it('is what the update staged, or the machine is not rebooted', async () => {
    await upTo('applyUpdate');
    await stageByHand();

    const arm = (await host.activities()).armReboot(orderFor(NEW, 'armReboot'));
    await expect(arm).rejects.toMatchObject({
      name: 'OsCommandFailed',
      message: expect.stringMatching(/cannot reboot into .*: the staged deployment is/) as string,
    });
    expect(host.reboots).toEqual([]);
  });

  it('is checked again when the order is repeated', async () => {
    await upTo('armReboot');
    await stageByHand();
    host.reboots.length = 0;

    const arm = (await host.activities()).armReboot(
      orderFor(NEW, 'armReboot', { orderId: 'update-node/worker-1/run-1/armReboot-again' }),
    );
    await expect(arm).rejects.toMatchObject({ name: 'OsCommandFailed' });
    expect(host.reboots).toEqual([]);
  });

  it('is dropped when the update has no operating system to boot', async () => {
    const order = (step: string) => orderFor(REBOOTED, step);
    const activities = await host.activities();
    await activities.prepareUpdate(order('prepareUpdate'));
    await activities.applyUpdate(order('applyUpdate'));
    await stageByHand();
    const { bootId } = await (await host.activities()).armReboot(order('armReboot'));
    await host.reboot();

    expect((await host.status()).booted.image).toBe(OLD_IMAGE);
    await (
      await host.activities()
    ).verifyUpdate({ ...order('verifyUpdate'), rebootedFrom: bootId });
  });
});
