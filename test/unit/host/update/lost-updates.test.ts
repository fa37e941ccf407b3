/**
 * A machine rebooted into an update whose workflow is lost, with Temporal's database: the next order neither
 * commits it unverified nor undoes a part of it.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { rebootIsDue } from '../../../../host/settle/settle-at-start';
import { readKeptConfig } from '../../../../host/records/configs';
import { fail } from '../../../../core/errors';
import type { HostOrder, PreparedUpdate } from '../../../../workflows/contracts/host';
import { aConfig, aFile, orderFor, type TestConfig, type TestOrder } from '../a-host';
import { anOstreeHost, type OstreeHost } from '../an-ostree-host';
import { motdOf } from '../an-os-update';
import { bootIntoNew, LEFT, ON_NEW, ON_OLD, stateOf } from '../lost-update';
import { image, NEW, NEXT, OLD } from '../os-configs';

let host: OstreeHost;
beforeEach(async () => {
  host = await anOstreeHost(OLD, [NEW, NEXT]);
});
afterEach(() => host.remove());

/** Orders of the update that comes after the lost one. */
const later = (config: TestConfig, step: string): TestOrder =>
  orderFor(config, step, { orderId: `update-node/worker-1/run-2/${step}` });

/** Fields of an order while the Node does not show the new config. */
const NODE_ON_OLD: Partial<HostOrder> = { currentConfig: OLD.reference };

/** The host was verified; its workflow did not learn whether the node was Ready. */
async function loseVerified(): Promise<string> {
  const bootId = await bootIntoNew(host);
  const activities = await host.activities();
  await activities.verifyUpdate({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom: bootId });
  return bootId;
}

/** The node is Ready, and the process dies at the beginning of the commit. */
async function loseCommitting(): Promise<void> {
  await loseVerified();
  await (await (await host.ports()).journal.open())?.mark({ kind: 'committing' });
}

/** Flips one bit of the config that was kept for the update. */
function damageKept(): void {
  const path = join(host.root, 'var/lib/slipway/desired.json');
  const bytes = readFileSync(path);
  bytes[10] = (bytes[10] ?? 0) ^ 8;
  writeFileSync(path, bytes);
}

/** The activities of a machine with a healthy or unhealthy kubelet. */
async function withKubelet(isWell: boolean) {
  const ports = await host.ports();
  const kubeletHealthy = async (): Promise<void> => {
    if (!isWell) throw fail('VerifyFailed', 'the kubelet is not healthy after 60 s');
  };
  const vitals = { commandLine: async () => undefined, kubeletHealthy };
  return createHostActivities({ ...ports, vitals });
}

describe('an update that was lost after its reboot', () => {
  it('is taken over by an order for the same config, and verified without a second reboot', async () => {
    const bootId = await bootIntoNew(host);
    const broken = await withKubelet(false);

    const prepared = await broken.prepareUpdate(later(NEW, 'prepareUpdate'));

    expect(prepared).toMatchObject<Partial<PreparedUpdate>>({
      alreadyOnTarget: false,
      unsettled: true,
      settled: 'took over the update to rendered-worker-new',
    });
    expect(prepared.plan).toMatchObject({ reboot: true, drain: true });
    expect(await stateOf(host)).toEqual(LEFT);
    await broken.applyUpdate(later(NEW, 'applyUpdate'));
    expect(await broken.armReboot(later(NEW, 'armReboot'))).toEqual({ bootId });
    expect(host.reboots).toEqual([]);
    const verifying = { ...later(NEW, 'verifyUpdate'), rebootedFrom: bootId };
    await expect(broken.verifyUpdate(verifying)).rejects.toMatchObject({ name: 'VerifyFailed' });

    const well = await withKubelet(true);
    await well.verifyUpdate(verifying);
    await well.commitUpdate(later(NEW, 'commitUpdate'));
    expect(await stateOf(host)).toEqual(ON_NEW);
  });

  it.each([
    ['is on the config before', NODE_ON_OLD],
    ['is on none', {}],
  ])(
    'is verified anew although it was verified, when the Node says that it %s',
    async (_, node) => {
      const bootId = await loseVerified();
      const order = (step: string): TestOrder => ({ ...later(NEW, step), ...node });
      const broken = await withKubelet(false);

      const prepared = await broken.prepareUpdate(order('prepareUpdate'));

      expect(prepared).toMatchObject<Partial<PreparedUpdate>>({
        alreadyOnTarget: false,
        unsettled: true,
        settled: 'took over the update to rendered-worker-new',
        plan: expect.objectContaining({ reboot: true, drain: true }) as PreparedUpdate['plan'],
      });
      expect(await stateOf(host)).toEqual(LEFT);
      await broken.applyUpdate(order('applyUpdate'));
      expect(await broken.armReboot(order('armReboot'))).toEqual({ bootId });
      expect(host.reboots).toEqual([]);
      const verifying = { ...order('verifyUpdate'), rebootedFrom: bootId };
      await expect(broken.verifyUpdate(verifying)).rejects.toMatchObject({ name: 'VerifyFailed' });

      expect(await broken.goBack(order('goBack'))).toMatchObject({ rebooting: true });
      await host.reboot();
      await host.settle();
      await (await host.activities()).verifyBack(order('verifyBack'));
      expect(await stateOf(host)).toEqual(ON_OLD);
    },
  );

  it.each([
    [
      'it was verified and the Node says that it is on it',
      { currentConfig: NEW.reference },
      loseVerified,
    ],
    ['its commit had begun', NODE_ON_OLD, loseCommitting],
  ])('is finished without more ado when %s', async (_, node, lose) => {
    await lose();

    const order = { ...later(NEW, 'prepareUpdate'), ...node };
    const prepared = await (await withKubelet(false)).prepareUpdate(order);

    expect(prepared).toMatchObject({
      alreadyOnTarget: true,
      settled: 'finished the update to rendered-worker-new, which was left verified',
    });
    expect(prepared.unsettled).toBeUndefined();
    expect(await stateOf(host)).toEqual(ON_NEW);
  });

  it('is not finished on the word of the Node when its files are others by now', async () => {
    await loseVerified();
    writeFileSync(join(host.root, 'etc/motd'), 'somebody');

    const order = { ...later(NEW, 'prepareUpdate'), currentConfig: NEW.reference };
    const prepared = await (await host.activities()).prepareUpdate(order);

    expect(prepared).toMatchObject({
      alreadyOnTarget: false,
      unsettled: true,
      settled: 'took over the update to rendered-worker-new',
    });
    expect(await stateOf(host)).toEqual({ ...LEFT, motd: 'somebody' });
  });

  it('is finished with its config fetched anew when the kept one was damaged in its commit', async () => {
    await loseCommitting();
    damageKept();

    const prepared = await (await host.activities()).prepareUpdate(later(NEXT, 'prepareUpdate'));

    expect(prepared).toMatchObject({ currentConfig: 'rendered-worker-new' });
    expect(await stateOf(host)).toEqual(ON_NEW);
  });

  it('stays as it is when the kept config was damaged in its commit and nobody has another one', async () => {
    await loseCommitting();
    damageKept();
    const ports = await host.ports();
    const fetch = async (name: string): Promise<never> => {
      throw fail('ConfigFetchFailed', `fetch ${name}: 404`);
    };
    const cutOff = createHostActivities({ ...ports, configs: { fetch } });

    await expect(cutOff.prepareUpdate(later(NEXT, 'prepareUpdate'))).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
      message:
        'finish the update to rendered-worker-new on worker-1, whose config is missing or damaged in ' +
        '/var/lib/slipway/desired.json: fetch rendered-worker-new: 404; nothing was changed',
    });
    expect(await stateOf(host)).toEqual(LEFT);
  });

  it('is not finished on the old deployment, which a person booted in the middle of its commit', async () => {
    const { id } = (await host.status()).booted;
    await loseCommitting();
    await (await host.ports()).os.rollback(id);
    await host.reboot();

    const prepared = (await host.activities()).prepareUpdate(later(NEXT, 'prepareUpdate'));

    await expect(prepared).rejects.toMatchObject({
      name: 'WrongDeployment',
      message: expect.stringMatching(
        `^commit rendered-worker-new on worker-1: booted deployment ${id}, expected `,
      ) as string,
    });
    const { image: booted, current, isOpen } = await stateOf(host);
    expect({ image: booted, current, isOpen }).toEqual({
      ...{ image: image('1'), current: 'rendered-worker-old', isOpen: true },
    });
  });

  it('is finished before another config when it was verified and the Node says that it is on it', async () => {
    await loseVerified();

    const order = { ...later(NEXT, 'prepareUpdate'), currentConfig: NEW.reference };
    const prepared = await (await host.activities()).prepareUpdate(order);

    expect(prepared).toMatchObject({
      alreadyOnTarget: false,
      currentConfig: 'rendered-worker-new',
      settled: 'finished the update to rendered-worker-new, which was left verified',
    });
    expect(prepared.unsettled).toBeUndefined();
    expect(await stateOf(host)).toEqual(ON_NEW);
  });

  it.each([
    ['another config', NEXT, () => bootIntoNew(host), NODE_ON_OLD],
    ['its old config', OLD, () => bootIntoNew(host), NODE_ON_OLD],
    [
      'another config and the Node never heard that it was verified',
      NEXT,
      loseVerified,
      NODE_ON_OLD,
    ],
    ['another config and the Node is on none', NEXT, loseVerified, {}],
  ])('is left whole while the node may serve when it wants %s', async (_, wanted, lose, node) => {
    await lose();

    const order = { ...later(wanted, 'prepareUpdate'), ...node };
    const prepared = await (await host.activities()).prepareUpdate(order);

    expect(prepared).toMatchObject<Partial<PreparedUpdate>>({
      alreadyOnTarget: false,
      unsettled: true,
      settled:
        'the update to rendered-worker-new was lost, and is rolled back once the node is drained',
    });
    expect(prepared.plan).toMatchObject({
      reboot: true,
      drain: true,
      summary: 'roll back the lost update to rendered-worker-new',
    });
    expect(await stateOf(host)).toEqual(LEFT);
    expect(host.reboots).toEqual([]);
  });

  it('is rolled back once the node is drained, by one reboot, and then the other config is applied', async () => {
    await bootIntoNew(host);
    const broken = await withKubelet(false);
    await broken.prepareUpdate(later(NEXT, 'prepareUpdate'));

    await expect(broken.applyUpdate(later(NEXT, 'applyUpdate'))).rejects.toMatchObject({
      name: 'EarlierUpdateLost',
      message: expect.stringContaining('rendered-worker-new') as string,
    });
    expect(await stateOf(host)).toEqual(LEFT);
    const { rebooting, bootId } = await broken.goBack(later(NEXT, 'goBack'));
    expect(rebooting).toBe(true);
    expect(host.reboots).toEqual(['the update is rolled back']);
    await host.reboot();
    await host.settle();
    const back = await host.activities();
    await back.verifyBack({ ...later(NEXT, 'verifyBack'), rebootedFrom: bootId });
    expect(await stateOf(host)).toEqual(ON_OLD);

    // The rollout tries the node again, and nothing prevents it.
    const third = (step: string) =>
      orderFor(NEXT, step, { orderId: `update-node/w/run-3/${step}` });
    const next = await host.activities();
    expect(await next.prepareUpdate(third('prepareUpdate'))).not.toHaveProperty('settled');
    await next.applyUpdate(third('applyUpdate'));
    await next.armReboot(third('armReboot'));
    await host.reboot();
    expect((await stateOf(host)).motd).toBe('next');
  });
});

describe('services that a lost update restarted after a drain', () => {
  async function loseRestarted() {
    const restart = { type: 'Restart', restart: { serviceName: 'a.service' } } as const;
    const actions = [{ type: 'Drain' }, restart] as const;
    const files = [{ path: '/etc/motd', actions }];
    const restarted = aConfig('rendered-worker-restarted', {
      ...OLD.spec,
      config: { storage: { files: [aFile('/etc/motd', 'restarted')] } },
    });
    host.remove();
    host = await anOstreeHost(OLD, [restarted]);
    const order = (step: string): TestOrder =>
      orderFor(restarted, step, { disruptionPolicies: { files } });
    const activities = await host.activities();
    const { plan } = await activities.prepareUpdate(order('prepareUpdate'));
    expect(plan).toMatchObject({ drain: true, reboot: false });
    await activities.applyUpdate(order('applyUpdate'));
    await activities.performServiceActions(order('performServiceActions'));
    return { activities, order, restarted };
  }

  it('are notified of the old files once the node is drained again', async () => {
    const { activities } = await loseRestarted();
    const told = host.serviceActions.length;

    const prepared = await activities.prepareUpdate(later(OLD, 'prepareUpdate'));

    expect(prepared).toMatchObject({ unsettled: true, plan: { drain: true, reboot: false } });
    expect(motdOf(host)).toBe('restarted');
    expect(host.serviceActions).toHaveLength(told);
    await expect(activities.applyUpdate(later(OLD, 'applyUpdate'))).rejects.toMatchObject({
      name: 'EarlierUpdateLost',
    });
    expect(await activities.goBack(later(OLD, 'goBack'))).toMatchObject({ rebooting: false });
    await activities.verifyBack(later(OLD, 'verifyBack'));
    expect(host.serviceActions.length).toBeGreaterThan(told);
    expect(await stateOf(host)).toEqual(ON_OLD);
  });

  it('are not restarted again by the update that takes it over', async () => {
    const { activities, order, restarted } = await loseRestarted();
    const told = host.serviceActions.length;
    const next = (step: string): TestOrder => ({
      ...order(step),
      orderId: `update-node/worker-1/run-2/${step}`,
      currentConfig: OLD.reference,
    });

    expect(await activities.prepareUpdate(next('prepareUpdate'))).toMatchObject({
      alreadyOnTarget: false,
      settled: 'took over the update to rendered-worker-restarted',
      plan: { drain: true, reboot: false },
    });
    await activities.applyUpdate(next('applyUpdate'));
    await activities.performServiceActions(next('performServiceActions'));
    expect(host.serviceActions).toHaveLength(told);
    await activities.verifyUpdate(next('verifyUpdate'));
    await activities.commitUpdate(next('commitUpdate'));

    expect(await stateOf(host)).toMatchObject({ current: restarted.reference.name, isOpen: false });
  });
});

describe('a rollback that was lost before its reboot', () => {
  it('is not closed on the deployment that it is to leave', async () => {
    await bootIntoNew(host);
    // The reboot does not take place, and the workflow that waits for it is lost.
    await (await host.activities()).goBack(orderFor(NEW, 'goBack'));
    const activities = await host.activities();

    const prepared = await activities.prepareUpdate(later(NEW, 'prepareUpdate'));

    expect(prepared).toMatchObject({ alreadyOnTarget: false, unsettled: true });
    expect((await stateOf(host)).isOpen).toBe(true);
    await expect(activities.applyUpdate(later(NEW, 'applyUpdate'))).rejects.toMatchObject({
      name: 'EarlierUpdateLost',
    });
    const { rebooting, bootId } = await activities.goBack(later(NEW, 'goBack'));
    expect(rebooting).toBe(true);
    await host.reboot();
    await host.settle();
    const back = await host.activities();
    await back.verifyBack({ ...later(NEW, 'verifyBack'), rebootedFrom: bootId });
    expect(await stateOf(host)).toEqual(ON_OLD);
  });
});

describe('an update that was taken over before its reboot, and is not gone on with', () => {
  async function takeOver(upTo: 'applyUpdate' | 'armReboot'): Promise<PreparedUpdate> {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
    if (upTo === 'armReboot') await activities.armReboot(orderFor(NEW, 'armReboot'));
    return activities.prepareUpdate(later(NEW, 'prepareUpdate'));
  }

  it.each(['applyUpdate', 'armReboot'] as const)(
    'is undone with what was staged, when it was left at %s',
    async (upTo) => {
      expect(await takeOver(upTo)).toMatchObject({
        settled: 'took over the update to rendered-worker-new',
        tookOver: true,
      });

      const activities = await host.activities();
      await expect(activities.discardStaged(later(NEW, 'discardStaged'))).resolves.toEqual({
        currentConfig: OLD.reference.name,
      });

      expect(await stateOf(host)).toEqual(ON_OLD);
      expect((await host.status()).staged).toBeUndefined();
      expect(await rebootIsDue(await host.ports())).toBe(false);
      const { files } = await host.ports();
      expect(await readKeptConfig(files, NEW.reference)).toBeUndefined();
    },
  );

  it('is said to be left when the machine has rebooted into it meanwhile', async () => {
    await takeOver('armReboot');
    await host.reboot();

    const activities = await host.activities();
    const discarded = activities.discardStaged(later(NEW, 'discardStaged'));

    await expect(discarded).resolves.toEqual({ unsettled: true });
    expect((await stateOf(host)).isOpen).toBe(true);
  });

  it('is left to a drain once it rebooted', async () => {
    await bootIntoNew(host);
    const activities = await host.activities();
    expect(await activities.prepareUpdate(later(NEW, 'prepareUpdate'))).toMatchObject({
      unsettled: true,
    });

    await activities.discardStaged(later(NEW, 'discardStaged'));

    expect(await stateOf(host)).toEqual(LEFT);
  });
});

describe('an order of another update that begins nothing', () => {
  const leavesAlone = async (give: () => Promise<unknown>): Promise<void> => {
    const marks = async () => (await (await host.ports()).journal.open())?.marks();
    const kept = async () => {
      const { files, journal } = await host.ports();
      const target = (await journal.open())?.header.target;
      return target === undefined ? undefined : (await readKeptConfig(files, target))?.reference;
    };
    const all = async () => ({
      marks: await marks(),
      kept: await kept(),
      ...(await stateOf(host)),
    });
    const before = await all();
    await give().catch(() => undefined);
    expect(await all()).toEqual(before);
  };

  it.each(['verifyUpdate', 'commitUpdate', 'verifyBack', 'discardStaged'] as const)(
    '%s leaves an update alone that is applied',
    async (step) => {
      // Nothing of it shows on the running system; only the journal has it.
      const sameFiles = aConfig('rendered-worker-same-files', {
        ...OLD.spec,
        osImageURL: image('4'),
      });
      const other = await anOstreeHost(OLD, [sameFiles]);
      host.remove();
      host = other;
      const activities = await host.activities();
      await activities.prepareUpdate(orderFor(sameFiles, 'prepareUpdate'));
      await activities.applyUpdate(orderFor(sameFiles, 'applyUpdate'));

      await leavesAlone(() => activities[step](later(OLD, step)));

      // Orders of the update itself go on.
      await activities.armReboot(orderFor(sameFiles, 'armReboot', { orderId: 'x' }));
      await host.reboot();
      const after = await host.activities();
      await after.verifyUpdate(orderFor(sameFiles, 'verifyUpdate', { orderId: 'y' }));
      await after.commitUpdate(orderFor(sameFiles, 'commitUpdate', { orderId: 'z' }));
      expect((await stateOf(host)).current).toBe('rendered-worker-same-files');
    },
  );

  it.each(['verifyUpdate', 'commitUpdate', 'verifyBack', 'discardStaged'] as const)(
    '%s leaves an update alone that rebooted',
    async (step) => {
      await bootIntoNew(host);
      const activities = await host.activities();
      for (const config of [OLD, NEXT]) {
        await leavesAlone(() => activities[step](later(config, step)));
      }
    },
  );
});
