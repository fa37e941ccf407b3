/** A worker that cannot read its settings, with the real ports of a machine in a directory. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpdateHeader } from '../../../activities/host/ports';
import { confirmation } from '../../../workers/host-confirmation';
import { settingsOrBack } from '../../../workers/host-last-resort';
import { createMachinePorts } from '../../../workers/host-machine';
import { createLogger } from '../../../workers/logging';
import { aConfig, orderFor } from '../activities/host/a-host';

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
    flags: { root, driver: 'none', node: 'worker-1', configFile: join(root, 'damaged.yaml') },
    environment: {},
  });
  const resort = (more: object = {}) => ({
    signal: stop.signal,
    log,
    reboot: async (reason: string) => void reboots.push(`${reason}: ${motd()}`),
    ...more,
  });

  /** An update that rebooted into this boot. */
  async function bootUpdate(driver: UpdateHeader['driver'] = 'none'): Promise<void> {
    const { flags } = given();
    const { ports } = await createMachinePorts({
      ...flags,
      driver: 'none',
      kubelet: {},
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
    await expect(settingsOrBack(read, given(), resort())).rejects.toThrow(/authorityFile/);
    expect(reboots).toEqual([]);
  });

  it('take the machine back when the time is over', async () => {
    await bootUpdate();
    const over = new AbortController();
    const confirm = async (host: Parameters<typeof confirmation>[0]) => {
      const found = await confirmation(host, 600, log, () => 0);
      expect(found.deadline.aborted).toBe(false);
      return { ...found, deadline: over.signal };
    };
    const onWaiting = async () => over.abort();

    const settings = await settingsOrBack(read, given(), resort({ confirm, onWaiting }));

    expect(settings).toBeUndefined();
    expect(reboots).toEqual(['the update is taken back: old']);
  });

  it('take it back with the OS driver of the update, when they do not say another', async () => {
    await bootUpdate('ostree');
    const { node, configFile } = given().flags;
    const hosts: string[] = [];
    const confirm = async (host: Parameters<typeof confirmation>[0]) => {
      hosts.push(host.ports.os.name);
      return confirmation(host, 600, log, () => 0);
    };
    problem = 'driver: expected one of auto, none';

    const onWaiting = async () => {
      problem = undefined;
    };
    const more = resort({ confirm, onWaiting, lookMs: 1 });
    await settingsOrBack(read, { flags: { root, node, configFile }, environment: {} }, more);

    expect(hosts).toEqual(['ostree']);
  });

  it('that are there again in time are used', async () => {
    await bootUpdate();
    const onWaiting = async () => {
      problem = undefined;
    };

    const settings = await settingsOrBack(read, given(), resort({ onWaiting, lookMs: 1 }));

    expect(settings).toBe('settings');
    expect(reboots).toEqual([]);
    expect(motd()).toBe('new');
  });
});
