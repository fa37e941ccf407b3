/**
 * An update failed on a host and was lost, with Temporal's database, before its Node showed it: the next update to
 * the same config reports the failure, and the machine does not boot into that config again.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { goBackAlone } from '../../../../host/confirm/unconfirmed';
import {
  aConfig,
  aFile,
  aHost,
  orderFor,
  type TestConfig,
  type TestHost,
  type TestOrder,
} from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { motdOf } from '../an-os-update';
import { bootIntoNew, ON_OLD, stateOf } from '../lost-update';
import { image, NEW, NEXT, OLD } from '../os-configs';

const FAILED = 'VerifyFailed: unit a.service has failed';
/** The failure on the Node. */
const SAID = {
  name: 'EarlierUpdateFailed',
  message: `rendered-worker-new has failed on worker-1 in an update that was lost: ${FAILED}`,
};

/** An order of an update after the lost one. */
const later = (config: TestConfig, step: string, run = 2): TestOrder => ({
  ...orderFor(config, step, { orderId: `update-node/worker-1/run-${run}/${step}` }),
  afterLost: true,
});
/** An order of an update that a person requested with a retry, after the failure was shown. */
const told = (config: TestConfig, step: string): TestOrder =>
  orderFor(config, step, { orderId: `update-node/worker-1/run-9/${step}` });

let host: OstreeHost;
beforeEach(async () => {
  host = await anOstreeHost(OLD, [NEW, NEXT]);
});
afterEach(() => host.remove());

/** The rollback was ordered, and its reboot has not come. */
async function goingBack(failed?: string): Promise<string> {
  await bootIntoNew(host);
  const order = { ...orderFor(NEW, 'goBack'), ...(failed === undefined ? {} : { failed }) };
  const { rebooting, bootId } = await (await host.activities()).goBack(order);
  expect(rebooting).toBe(true);
  host.reboots.length = 0;
  return bootId;
}

async function bootBack(): Promise<void> {
  await host.reboot();
  await host.settle();
}

/** It is rolled back, and not verified. */
async function backUnproven(failed?: string): Promise<void> {
  await goingBack(failed);
  await bootBack();
}

async function expectTriedWhenTold(): Promise<void> {
  const activities = await host.activities();
  expect(await activities.prepareUpdate(told(NEW, 'prepareUpdate'))).toMatchObject({
    alreadyOnTarget: false,
    plan: { reboot: true },
  });
  await activities.applyUpdate(told(NEW, 'applyUpdate'));
  expect(motdOf(host)).toBe('new');
}

describe('an update that failed and was lost', () => {
  it.each([
    ['before it was proven that the host is back', async () => backUnproven(FAILED)],
    [
      'after that',
      async () => {
        await backUnproven(FAILED);
        await (await host.activities()).verifyBack(orderFor(NEW, 'verifyBack'));
      },
    ],
  ])('%s is named by the next one, and tried again when told', async (_, lose) => {
    await lose();
    const activities = await host.activities();

    await expect(activities.prepareUpdate(later(NEW, 'prepareUpdate'))).rejects.toMatchObject(SAID);

    expect(await stateOf(host)).toEqual(ON_OLD);
    expect((await host.status()).rollback?.image).not.toBe(image('2'));
    expect(host.reboots).toEqual([]);
    // The answer was lost, and so is the update, before its Node showed it.
    await expect(activities.prepareUpdate(later(NEW, 'prepareUpdate'))).rejects.toMatchObject(SAID);
    await expect(activities.discardStaged(later(NEW, 'discardStaged'))).resolves.toEqual({
      currentConfig: OLD.reference.name,
    });
    const third = activities.prepareUpdate(later(NEW, 'prepareUpdate', 3));
    await expect(third).rejects.toMatchObject(SAID);
    await expectTriedWhenTold();
  });

  it.each([
    ['before its reboot', false],
    ['and reboots while the next one waits for its grant', true],
  ])('%s is rolled back once the node is drained, and named', async (_, reboots) => {
    await goingBack(FAILED);
    const activities = await host.activities();

    expect(await activities.prepareUpdate(later(NEW, 'prepareUpdate'))).toMatchObject({
      alreadyOnTarget: false,
      unsettled: true,
      plan: { drain: true, summary: 'roll back the lost update to rendered-worker-new' },
    });
    if (reboots) await bootBack();
    const applying = (await host.activities()).applyUpdate(later(NEW, 'applyUpdate'));
    await expect(applying).rejects.toMatchObject(SAID);
    const order = { ...later(NEW, 'goBack'), failed: 'EarlierUpdateFailed: as was said' };
    expect(await (await host.activities()).goBack(order)).toMatchObject({ rebooting: !reboots });
    if (!reboots) await bootBack();
    await (await host.activities()).verifyBack(later(NEW, 'verifyBack'));

    expect(await stateOf(host)).toEqual(ON_OLD);
    const third = (await host.activities()).prepareUpdate(later(NEW, 'prepareUpdate', 3));
    await expect(third).rejects.toMatchObject(SAID);
    await expectTriedWhenTold();
  });

  it('is in the way of no other config', async () => {
    await backUnproven(FAILED);
    const activities = await host.activities();

    await activities.prepareUpdate(later(NEXT, 'prepareUpdate'));
    await activities.applyUpdate(later(NEXT, 'applyUpdate'));

    expect(motdOf(host)).toBe('next');
  });

  it('is tried again when a person says so before it is back, once it is', async () => {
    await goingBack(FAILED);
    const activities = await host.activities();

    expect(await activities.prepareUpdate(told(NEW, 'prepareUpdate'))).toMatchObject({
      unsettled: true,
    });
    await expect(activities.applyUpdate(told(NEW, 'applyUpdate'))).rejects.toMatchObject({
      name: 'EarlierUpdateLost',
    });
  });
});

describe('a rollback that nobody called a failure', () => {
  it.each([
    ['was ordered for another reason', async () => backUnproven()],
    [
      'came of a power cut',
      async () => {
        const activities = await host.activities();
        await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
        await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
        await activities.armReboot(orderFor(NEW, 'armReboot'));
        await host.powerCut();
        await host.settle();
      },
    ],
  ])('and %s is followed by another try', async (_, lose) => {
    await lose();
    const activities = await host.activities();

    expect(await activities.prepareUpdate(later(NEW, 'prepareUpdate'))).toMatchObject({
      settled: 'undid the unfinished update to rendered-worker-new',
      plan: { reboot: true },
    });
    await activities.applyUpdate(later(NEW, 'applyUpdate'));
    expect(motdOf(host)).toBe('new');
  });
});

describe('a machine that has gone back by itself, whose update is lost,', () => {
  it.each([
    [
      'because it could not boot its config',
      /^rendered-worker-new has failed on .* lost: the machine booted deployment .* again, expected /,
      async () => {
        const activities = await host.activities();
        await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
        await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
        await activities.armReboot(orderFor(NEW, 'armReboot'));
        await host.boot({ broken: true });
        await host.settle();
      },
    ],
    [
      'because nobody could be reached',
      /^rendered-worker-new has failed on .* lost: Temporal was out of reach$/,
      async () => {
        await bootIntoNew(host);
        await goBackAlone(await host.ports(), 'Temporal was out of reach');
        await bootBack();
      },
    ],
  ])('%s, says so to the next one', async (_, message, lose) => {
    await lose();
    const activities = await host.activities();
    const prepare = () => activities.prepareUpdate(later(NEW, 'prepareUpdate'));

    await expect(prepare()).rejects.toMatchObject({
      name: 'EarlierUpdateFailed',
      message: expect.stringMatching(message) as string,
    });
    expect(await stateOf(host)).toEqual(ON_OLD);
    await expect(prepare()).rejects.toMatchObject({ name: 'EarlierUpdateFailed' });
    await expectTriedWhenTold();
  });

  it('although an order had begun the rollback, for another reason, says nothing', async () => {
    await bootIntoNew(host);
    const ports = await host.ports();
    const rollback = () => Promise.reject(new Error('the process died'));
    const dying = createHostActivities({ ...ports, os: { ...ports.os, rollback } });
    await expect(dying.goBack(orderFor(NEW, 'goBack'))).rejects.toThrow('the process died');
    await goBackAlone(await host.ports(), 'Temporal was out of reach');
    await bootBack();

    const prepared = (await host.activities()).prepareUpdate(later(NEW, 'prepareUpdate'));

    await expect(prepared).resolves.toMatchObject({ alreadyOnTarget: false });
  });
});

describe('files that a failed and lost update has left', () => {
  const [ONE, TWO] = ['one', 'two'].map((name) =>
    aConfig(`rendered-worker-${name}`, {
      config: { storage: { files: [aFile('/etc/motd', name)] } },
    }),
  ) as [TestConfig, TestConfig];
  let plain: TestHost;
  beforeEach(async () => {
    plain = await aHost([ONE, TWO]);
    const activities = await plain.activities();
    for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await activities[step](orderFor(ONE, step, { orderId: `first/${step}` }));
    }
    await activities.prepareUpdate(orderFor(TWO, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(TWO, 'applyUpdate'));
  });
  afterEach(() => plain.remove());

  it('are put back at once; one that cannot be is named beside the failure', async () => {
    const motd = join(plain.root, 'etc/motd');
    rmSync(motd);
    mkdirSync(motd);
    writeFileSync(join(motd, 'notes'), 'theirs');
    const activities = await plain.activities();
    const goBack = activities.goBack({ ...orderFor(TWO, 'goBack'), failed: FAILED });
    await expect(goBack).rejects.toMatchObject({ name: 'RollbackFailed' });
    const prepare = () => activities.prepareUpdate(later(TWO, 'prepareUpdate'));

    await expect(prepare()).rejects.toMatchObject({
      name: 'RollbackFailed',
      message: expect.stringMatching(
        `^${FAILED}; the rollback failed: RollbackFailed: put back /etc/motd: `,
      ) as string,
    });
    rmSync(motd, { recursive: true });

    await expect(prepare()).rejects.toMatchObject({
      name: 'EarlierUpdateFailed',
      message: expect.stringContaining(FAILED) as string,
    });
    expect(motdOf(plain)).toBe('one');
  });
});
