/** Services after an update that failed or was cancelled half-way: they must run with the old files. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHostActivities } from '../../../../activities/host/host-activities';
import type { HostPorts } from '../../../../host/ports';
import type { NodeDisruptionPolicy } from '../../../../core/disruption';
import { fail } from '../../../../core/errors';
import { aConfig, aFile, aHost, orderFor, type TestConfig, type TestHost } from '../a-host';

const unit = (start: string) => ({
  name: 'one.service',
  contents: `[Service]\nExecStart=${start}\n[Install]\nWantedBy=multi-user.target\n`,
});
const config = (name: string, text: string) =>
  aConfig(name, {
    config: {
      storage: { files: [aFile('/etc/one.conf', text)] },
      systemd: { units: [unit(`/bin/${text}`)] },
    },
  });
const OLD = config('rendered-worker-old', 'old');
const NEW = config('rendered-worker-new', 'new');
const OTHER = config('rendered-worker-other', 'other');

const restart = (serviceName: string) => ({ type: 'Restart' as const, restart: { serviceName } });
const POLICIES: NodeDisruptionPolicy = {
  files: [{ path: '/etc/one.conf', actions: [restart('one.service'), restart('two.service')] }],
  units: [{ name: 'one.service', actions: [{ type: 'DaemonReload' }] }],
};

const LOADED = { load: 'loaded', type: 'simple', restartPolicy: 'no', upMs: 0, hasRun: false };

describe('services of an update that does not hold', () => {
  let host: TestHost;
  /** Events of services, each with the file at that moment. */
  let told: string[];

  beforeEach(async () => {
    host = await aHost([OLD, NEW, OTHER]);
    told = [];
    const activities = await host.activities();
    for (const step of ['prepareUpdate', 'applyUpdate', 'verifyUpdate', 'commitUpdate'] as const) {
      await activities[step](order(OLD, `old-${step}`));
    }
  });
  afterEach(() => host.remove());

  const order = (to: TestConfig, step: string) =>
    orderFor(to, step, {
      orderId: `update-node/worker-1/to-${to.reference.name}/${step}`,
      disruptionPolicies: POLICIES,
    });
  const contents = () => readFileSync(join(host.root, 'etc/one.conf'), 'utf8');

  /** @param failing - a service that starts only with the old file */
  async function ports(failing?: string): Promise<HostPorts> {
    const real = await host.ports();
    return {
      ...real,
      systemd: {
        ...real.systemd,
        daemonReload: async () => void told.push(`systemd ${contents()}`),
        restart: async (service) => {
          told.push(`${service} ${contents()}`);
          if (service !== failing || contents() === 'old') return;
          throw fail('ApplyFailed', `systemctl restart ${service}: it failed`);
        },
      },
    };
  }

  async function failHalfway(): Promise<void> {
    const activities = createHostActivities(await ports('two.service'));
    const { plan } = await activities.prepareUpdate(order(NEW, 'prepareUpdate'));
    expect(plan.reboot).toBe(false);
    await activities.applyUpdate(order(NEW, 'applyUpdate'));
    await expect(
      activities.performServiceActions(order(NEW, 'performServiceActions')),
    ).rejects.toMatchObject({ name: 'ServiceFailed' });
    expect(told).toContain('one.service new');
    told.length = 0;
  }

  it('are notified of the old files by the rollback', async () => {
    await failHalfway();

    await createHostActivities(await ports()).goBack(order(NEW, 'goBack'));

    expect(told).toEqual(expect.arrayContaining(['one.service old', 'two.service old']));
    expect(told[0]).toBe('systemd old');
  });

  it('that crash on the new file have it undone, and must be up on the old one', async () => {
    const running = { ...LOADED, exitStatus: 0, restarts: 0 };
    const crashing = async (): Promise<HostPorts> => {
      const real = await ports();
      const state = async (service: string) =>
        service === 'two.service' && told.includes('two.service new')
          ? { ...running, active: 'failed', sub: 'failed', result: 'exit-code', exitStatus: 1 }
          : { ...running, active: 'active', sub: 'running', result: 'success' };
      return { ...real, pause: async () => undefined, systemd: { ...real.systemd, state } };
    };
    const activities = createHostActivities(await crashing());
    for (const step of ['prepareUpdate', 'applyUpdate'] as const) {
      await activities[step](order(NEW, step));
    }

    await expect(
      activities.performServiceActions(order(NEW, 'performServiceActions')),
    ).rejects.toMatchObject({
      name: 'ServiceFailed',
      message: expect.stringContaining('two.service did not come back after its restart') as string,
    });
    told.length = 0;
    await activities.goBack(order(NEW, 'goBack'));
    await activities.verifyBack(order(NEW, 'verifyBack'));

    expect(told).toEqual(expect.arrayContaining(['one.service old', 'two.service old']));
    expect(contents()).toBe('old');
  });

  it('are notified of the old files by the next order, when nobody sent the host back', async () => {
    await failHalfway();

    const next = createHostActivities(await ports());
    expect(await next.prepareUpdate(order(OTHER, 'next-prepare'))).toMatchObject({
      settled: 'undid the unfinished update to rendered-worker-new',
    });

    expect(told).toEqual(expect.arrayContaining(['one.service old', 'two.service old']));
    expect(told[0]).toBe('systemd old');
  });

  it('that are not well do not keep the next order from being carried out', async () => {
    await failHalfway();
    const real = await ports();
    const broken = async (): Promise<never> => {
      throw fail('ApplyFailed', 'systemctl restart: start request repeated too quickly');
    };
    const unwell = { ...real, systemd: { ...real.systemd, restart: broken } };

    const prepared = await createHostActivities(unwell).prepareUpdate(order(OTHER, 'next-prepare'));

    expect(prepared.settled).toMatch(/undid .*; its services are not well: .*repeated too quickly/);
    expect(contents()).toBe('old');
    expect(await (await host.ports()).journal.open()).toBeUndefined();
  });

  it('may be started again, however often they failed on the new files', async () => {
    const running = { ...LOADED, exitStatus: 0, restarts: 0 };
    const up = { ...running, active: 'active', sub: 'running', result: 'success' };
    const counting = async (failing?: string): Promise<HostPorts> => {
      const real = await ports(failing);
      const resetFailed = async (service: string) => void told.push(`reset ${service}`);
      const systemd = { ...real.systemd, resetFailed, state: async () => up };
      return { ...real, pause: async () => undefined, systemd };
    };
    const activities = createHostActivities(await counting('two.service'));
    for (const step of ['prepareUpdate', 'applyUpdate'] as const) {
      await activities[step](order(NEW, step));
    }
    const acting = activities.performServiceActions(order(NEW, 'performServiceActions'));
    await expect(acting).rejects.toMatchObject({ name: 'ServiceFailed' });

    await createHostActivities(await counting()).goBack(order(NEW, 'goBack'));

    expect(told.indexOf('reset two.service')).toBeGreaterThan(-1);
    expect(told.indexOf('two.service old')).toBeGreaterThan(told.indexOf('reset two.service'));
  });

  it('are left alone when none was told, but systemd reads its units again', async () => {
    const activities = createHostActivities(await ports());
    await activities.prepareUpdate(order(NEW, 'prepareUpdate'));
    await activities.applyUpdate(order(NEW, 'applyUpdate'));

    await activities.goBack(order(NEW, 'goBack'));

    expect(told).toEqual(['systemd old']);
  });
});
