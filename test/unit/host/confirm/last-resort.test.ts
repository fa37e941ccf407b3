/** A worker that cannot read its settings, with the real ports of a machine in a directory. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpdateHeader } from '../../../../host/ports';
import { confirmAfterReboot } from '../../../../host/confirm/after-reboot';
import { settingsOrBack } from '../../../../host/confirm/last-resort';
import { bareHost } from '../../../../workers/host/bare-host';
import { createMachinePorts } from '../../../../workers/host/machine-ports';
import { createLogger } from '../../../../process/logging';
import { aConfig, orderFor } from '../a-host';

const log = createLogger({ process: 'test', level: 'silent' });
const PLAN = {
  files: { changed: ['/etc/motd'], removed: [] },
  units: { changed: [], removed: [] },
  actions: [],
  reboot: true,
} as unknown as UpdateHeader['plan'];

describe('settings that an update took away', () => {
  let root: string;
  let reboots: string[];
  let problem: string | undefined;
  const stop = new AbortController();
  const motd = () => readFileSync(join(root, 'etc/motd'), 'utf8');
  const read = () => {
    if (problem !== undefined) throw new Error(problem);
    return 'settings';
  };
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-resort-'));
    mkdirSync(join(root, 'etc'));
    writeFileSync(join(root, 'etc/motd'), 'old');
    reboots = [];
    problem = 'authorityFile: cannot read /etc/kubernetes/ca.crt (ENOENT)';
  });
  afterEach(() => {
    rmSync(root, { recursive: true, force: true });
  });

  const given = () => ({
    root,
    driver: 'none',
    node: 'worker-1',
    configFile: join(root, 'damaged.yaml'),
  });
  const resort = (more: object = {}) => ({ signal: stop.signal, log, ...more });
  const find =
    (flags: object = given()) =>
    () =>
      bareHost(
        { ...flags },
        {},
        { log, reboot: async (reason) => void reboots.push(`${reason}: ${motd()}`) },
      );

  /** An update that rebooted into this boot. */
  async function bootUpdate(driver: UpdateHeader['driver'] = 'none'): Promise<void> {
    const { ports } = await createMachinePorts({
      ...given(),
      driver: 'none',
      kubelet: {},
      orderKeysFile: '/none',
      kubeletHealthSeconds: 0,
      inhibitorSeconds: 0,
      shutdownSeconds: 0,
    });
    const order = orderFor(aConfig('rendered-worker-new'), 'applyUpdate');
    const { booted } = await ports.os.status();
    const journal = await ports.journal.begin(order.orderId, {
      orderId: order.orderId,
      node: order.node,
      driver,
      target: order.config,
      previousDeployment: booted.id,
      before: { bootId: 'old', kernelArguments: [], extensions: [], kernelType: 'default' },
      plan: PLAN,
    });
    await journal.record(['/etc/motd']);
    writeFileSync(join(root, 'etc/motd'), 'new');
    await journal.mark({ kind: 'applied' });
    await journal.mark({
      ...{ kind: 'armed', bootId: 'old', expected: booted.id },
      notAfter: order.notAfter,
    });
  }

  it('are a failure at once when no update waits to be confirmed', async () => {
    await expect(settingsOrBack(read, find(), resort())).rejects.toThrow(/authorityFile/);
    expect(reboots).toEqual([]);
  });

  it('take the machine back when the time is over', async () => {
    await bootUpdate();
    const over = new AbortController();
    const confirm = async (host: Parameters<typeof confirmAfterReboot>[0]) => {
      const found = await confirmAfterReboot(host, log, () => 0);
      expect(found.deadline.aborted).toBe(false);
      return { ...found, deadline: over.signal };
    };
    const onWaiting = async () => over.abort();

    const settings = await settingsOrBack(read, find(), resort({ confirm, onWaiting }));

    expect(settings).toBeUndefined();
    expect(reboots).toEqual(['the update is rolled back: old']);
  });

  it('take it back with the OS driver of the update, when they do not say another', async () => {
    await bootUpdate('ostree');
    const { node, configFile } = given();
    const hosts: string[] = [];
    const confirm = async (host: Parameters<typeof confirmAfterReboot>[0]) => {
      hosts.push(host.ports.os.name);
      return confirmAfterReboot(host, log, () => 0);
    };
    problem = 'driver: expected one of auto, none';

    const onWaiting = async () => {
      problem = undefined;
    };
    const more = resort({ confirm, onWaiting, lookMs: 1 });
    await settingsOrBack(read, find({ root, node, configFile }), more);

    expect(hosts).toEqual(['ostree']);
  });

  it('that are there again in time are used', async () => {
    await bootUpdate();
    const onWaiting = async () => {
      problem = undefined;
    };

    const settings = await settingsOrBack(read, find(), resort({ onWaiting, lookMs: 1 }));

    expect(settings).toBe('settings');
    expect(reboots).toEqual([]);
    expect(motd()).toBe('new');
  });
});
