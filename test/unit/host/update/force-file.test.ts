/** The force file: skips the check of the disk, writes everything again, reboots, and is removed. */

import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aConfig, aFile, aHost, orderFor, type TestHost } from '../a-host';

const unit = {
  name: 'one.service',
  enabled: true,
  contents: '[Service]\nExecStart=/bin/one\n[Install]\nWantedBy=multi-user.target\n',
};
const CONFIG = aConfig('rendered-worker-1', {
  config: {
    storage: { files: [aFile('/etc/one.conf', 'right')] },
    systemd: { units: [unit] },
  },
});

let host: TestHost;
let activities: Awaited<ReturnType<TestHost['activities']>>;

const real = (path: string) => join(host.root, path);
const force = () => real('/run/machine-config-daemon-force');
const link = () => real('/etc/systemd/system/multi-user.target.wants/one.service');
const text = () => readFileSync(real('/etc/one.conf'), 'utf8');
const order = (step: string) => orderFor(CONFIG, step);

beforeEach(async () => {
  host = await aHost([CONFIG]);
  activities = await host.activities();
  for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
    await activities[step]({ ...order(step), orderId: `first/${step}` });
  }
  writeFileSync(real('/etc/one.conf'), 'wrong');
  rmSync(link());
  mkdirSync(real('/run'), { recursive: true });
});
afterEach(() => host.remove());

it('is what it takes: without it a drifted host refuses the update', async () => {
  await expect(activities.prepareUpdate(order('prepare'))).rejects.toMatchObject({
    name: 'ConfigDrift',
  });
});

it('brings a drifted host back to its config, through a drain and a reboot', async () => {
  writeFileSync(force(), '');

  const { plan, alreadyOnTarget } = await activities.prepareUpdate(order('prepare'));
  expect(alreadyOnTarget).toBe(false);
  expect(plan).toMatchObject({ reboot: true, drain: true, actions: [{ type: 'Reboot' }] });
  expect(plan.summary).toBe('reboot: everything is written again');
  // Not removed yet: the drain comes next, and may not complete.
  expect(existsSync(force())).toBe(true);

  await activities.applyUpdate(order('apply'));
  expect(existsSync(force())).toBe(false);
  const { bootId } = await activities.armReboot(order('arm'));
  await host.boot();
  activities = await host.activities();
  await activities.verifyUpdate({ ...order('verify'), rebootedFrom: bootId });
  await activities.commitUpdate(order('commit'));

  expect(text()).toBe('right');
  expect(lstatSync(link()).isSymbolicLink()).toBe(true);
  const again = { ...order('prepare'), orderId: 'update-node/worker-1/run-2/prepare' };
  expect(await activities.prepareUpdate(again)).toMatchObject({ alreadyOnTarget: true });
});

it('is there again when the update was undone, and so is the disk as it was', async () => {
  writeFileSync(force(), '');
  await activities.prepareUpdate(order('prepare'));
  await activities.applyUpdate(order('apply'));

  await activities.goBack(order('back'));
  await activities.verifyBack(order('verifyBack'));

  expect(existsSync(force())).toBe(true);
  expect(text()).toBe('wrong');
  expect(existsSync(link())).toBe(false);
});

it('has everything done again also on a host that has not drifted', async () => {
  writeFileSync(real('/etc/one.conf'), 'right');
  await activities.discardStaged(order('discard'));
  writeFileSync(force(), '');

  const orderId = 'update-node/worker-1/run-2/prepare';
  expect(await activities.prepareUpdate({ ...order('prepare'), orderId })).toMatchObject({
    alreadyOnTarget: false,
    plan: { reboot: true },
  });
});
