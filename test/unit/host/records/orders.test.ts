import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../a-host';

const ONE = aConfig('rendered-worker-1', {
  config: { storage: { files: [aFile('/etc/motd', 'one')] } },
});
const TWO = aConfig('rendered-worker-2', {
  config: { storage: { files: [aFile('/etc/motd', 'two')] } },
});

describe('an order', () => {
  let host: TestHost;
  beforeEach(async () => {
    host = await aHost([ONE, TWO]);
  });
  afterEach(() => host.remove());
  const motd = () => readFileSync(join(host.root, 'etc/motd'), 'utf8');

  async function settleOn(config: typeof ONE): Promise<void> {
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(config, 'prepareUpdate', { orderId: 'p' }));
    await activities.applyUpdate(orderFor(config, 'applyUpdate', { orderId: 'a' }));
    await activities.verifyUpdate(orderFor(config, 'verifyUpdate', { orderId: 'v' }));
    await activities.commitUpdate(orderFor(config, 'commitUpdate', { orderId: 'c' }));
  }

  it('is refused by another node', async () => {
    const order = orderFor(ONE, 'prepareUpdate', { node: 'worker-2' });

    await expect((await host.activities()).prepareUpdate(order)).rejects.toMatchObject({
      name: 'OrderRefused',
      message: expect.stringContaining('is for worker-2, this is worker-1') as string,
    });
  });

  it('is refused when it has expired, or does not say when', async () => {
    const activities = await host.activities();
    host.clock.now = new Date('2030-01-01T01:00:00.001Z');

    await expect(activities.applyUpdate(orderFor(ONE, 'x'))).rejects.toThrow(
      /expired at .*; the clock of this host shows 2030-01-01T01:00:00\.001Z/,
    );
    await expect(activities.applyUpdate(orderFor(ONE, 'x', { notAfter: 'soon' }))).rejects.toThrow(
      /no readable expiry/,
    );
  });

  it('that takes back is carried out whatever the clock says', async () => {
    await settleOn(ONE);
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(TWO, 'prepareUpdate'));
    await activities.applyUpdate(orderFor(TWO, 'applyUpdate'));
    expect(motd()).toBe('two');
    host.clock.now = new Date('2030-01-01T03:00:00Z');

    await activities.goBack(orderFor(TWO, 'goBack'));
    await activities.verifyBack(orderFor(TWO, 'verifyBack'));

    expect(motd()).toBe('one');
  });

  it('is carried out once and answered twice, also by the next process', async () => {
    const order = orderFor(ONE, 'prepareUpdate');
    const first = await (await host.activities()).prepareUpdate(order);

    const second = await (await host.activities()).prepareUpdate(order);

    expect(second).toEqual(first);
    expect(host.fetched).toEqual(['rendered-worker-1']);
  });

  it('is tried again when it failed', async () => {
    const activities = await host.activities();
    const order = orderFor(aConfig('rendered-worker-9'), 'prepareUpdate');

    await expect(activities.prepareUpdate(order)).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
    });
    await expect(activities.prepareUpdate(order)).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
    });
    expect(host.fetched).toHaveLength(2);
  });

  describe('after its update was rolled back', () => {
    const apply = orderFor(TWO, 'applyUpdate');
    beforeEach(async () => {
      await settleOn(ONE);
      const activities = await host.activities();
      await activities.prepareUpdate(orderFor(TWO, 'prepareUpdate'));
      await activities.applyUpdate(apply);
      await activities.goBack(orderFor(TWO, 'goBack'));
      await activities.verifyBack(orderFor(TWO, 'verifyBack'));
      expect(motd()).toBe('one');
    });

    it('is refused when somebody repeats it', async () => {
      const activities = await host.activities();

      await expect(activities.applyUpdate(apply)).rejects.toMatchObject({
        name: 'OrderRefused',
        message: expect.stringContaining('was rolled back') as string,
      });
      expect(motd()).toBe('one');
      await activities.discardStaged(orderFor(TWO, 'discardStaged'));
      await activities.goBack(orderFor(TWO, 'goBack'));
    });

    it('is carried out in another update', async () => {
      const activities = await host.activities();
      const next = (step: string) => `update-node/worker-1/run-2/${step}`;
      await activities.prepareUpdate({ ...apply, orderId: next('prepareUpdate') });
      await activities.applyUpdate({ ...apply, orderId: next('applyUpdate') });

      expect(motd()).toBe('two');
    });
  });

  it('to prepare is refused once its update is over: it would stage everything again', async () => {
    const activities = await host.activities();
    await activities.discardStaged(orderFor(TWO, 'discardStaged'));

    await expect(activities.prepareUpdate(orderFor(TWO, 'prepareUpdate'))).rejects.toMatchObject({
      name: 'OrderRefused',
      message: expect.stringContaining('was rolled back') as string,
    });
    expect(host.fetched).toEqual([]);
  });

  it('of an earlier update is refused, whatever it asks for', async () => {
    const activities = await host.activities();
    const first = (step: string) => orderFor(ONE, step, { orderId: `update-node/w/1/${step}` });
    const second = (step: string) => orderFor(TWO, step, { orderId: `update-node/w/2/${step}` });
    for (const order of [first, second]) {
      await activities.prepareUpdate(order('prepareUpdate'));
      await activities.applyUpdate(order('applyUpdate'));
      await activities.verifyUpdate(order('verifyUpdate'));
      await activities.commitUpdate(order('commitUpdate'));
    }

    for (const step of ['prepareUpdate', 'applyUpdate', 'goBack', 'discardStaged'] as const) {
      await expect(activities[step](first(step))).rejects.toMatchObject({
        name: 'OrderRefused',
        message: expect.stringContaining('that a later one has replaced') as string,
      });
    }
    expect(motd()).toBe('two');
  });

  it('remembers a bounded number of answers', async () => {
    await settleOn(ONE);
    const activities = await host.activities();
    for (let run = 0; run < 40; run++) {
      await activities.verifyUpdate(orderFor(ONE, 'verifyUpdate', { orderId: `run-${run}` }));
    }

    const kept = readFileSync(join(host.root, 'var/lib/slipway/orders.json'), 'utf8');
    expect(JSON.parse(kept)).toHaveLength(32);
    expect(kept).toContain('run-39');
  });

  it('is refused when the bytes are not those that were ordered', async () => {
    const config = { ...ONE.reference, digest: TWO.reference.digest };

    await expect(
      (await host.activities()).prepareUpdate(orderFor(ONE, 'prepareUpdate', { config })),
    ).rejects.toMatchObject({ name: 'DigestMismatch' });
  });

  it('is refused with the path when the disk is not as the current config says', async () => {
    await settleOn(ONE);
    writeFileSync(join(host.root, 'etc/motd'), 'somebody was here');

    await expect(
      (await host.activities()).prepareUpdate(orderFor(TWO, 'prepareUpdate')),
    ).rejects.toMatchObject({
      name: 'ConfigDrift',
      message:
        'unexpected on-disk state validating against rendered-worker-1: content mismatch for file "/etc/motd"',
      details: { path: '/etc/motd' },
    });
  });

  it('fetches the current config when the host has no record of it', async () => {
    await settleOn(ONE);
    rmSync(join(host.root, 'etc/machine-config-daemon/currentconfig'));

    const prepared = await (
      await host.activities()
    ).prepareUpdate(orderFor(TWO, 'prepareUpdate', { currentConfig: ONE.reference }));

    expect(prepared.currentConfig).toBe('rendered-worker-1');
    expect(prepared.plan.files.changed).toEqual(['/etc/motd']);
  });

  it('stops between two changes when it is cancelled, and can be undone', async () => {
    await settleOn(ONE);
    const activities = await host.activities();
    await activities.prepareUpdate(orderFor(TWO, 'prepareUpdate'));
    host.abort.abort(new Error('cancelled'));

    await expect(activities.applyUpdate(orderFor(TWO, 'applyUpdate'))).rejects.toThrow('cancelled');
    const undoing = await aHost([ONE, TWO], { root: host.root });
    await (await undoing.activities()).goBack(orderFor(TWO, 'goBack'));
    expect(readFileSync(join(host.root, 'etc/motd'), 'utf8')).toBe('one');
  });

  it('waits for its turn: two never run beside each other', async () => {
    const ports = await host.ports();
    const running = { now: 0, most: 0 };
    const activities = createHostActivities({
      ...ports,
      configs: {
        async fetch(name) {
          running.now += 1;
          running.most = Math.max(running.most, running.now);
          for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
          running.now -= 1;
          return ports.configs.fetch(name);
        },
      },
    });

    const failing = activities.prepareUpdate(orderFor(aConfig('rendered-worker-9'), 'p0'));
    const both = [
      activities.prepareUpdate(orderFor(ONE, 'p1')),
      activities.prepareUpdate(orderFor(TWO, 'p2')),
    ];

    await expect(failing).rejects.toMatchObject({ name: 'ConfigFetchFailed' });
    await Promise.all(both);
    expect(running.most).toBe(1);
    const kept = readFileSync(join(host.root, 'var/lib/slipway/orders.json'), 'utf8');
    expect(JSON.parse(kept)).toMatchObject([
      { orderId: orderFor(ONE, 'p1').orderId },
      { orderId: orderFor(TWO, 'p2').orderId },
    ]);
  });

  it('is not begun when it was cancelled while it waited', async () => {
    const activities = await host.activities();
    host.abort.abort(new Error('cancelled'));

    await expect(activities.prepareUpdate(orderFor(ONE, 'prepareUpdate'))).rejects.toThrow(
      'cancelled',
    );
    expect(host.fetched).toEqual([]);
  });

  it('commits nothing that was not applied', async () => {
    await expect(
      (await host.activities()).commitUpdate(orderFor(TWO, 'commitUpdate')),
    ).rejects.toMatchObject({ name: 'RefusedRequest' });
  });
});
