/** The report for a person at the console, of a machine in a directory with the real ports. */

import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { UpdateHeader } from '../../../../host/ports';
import { writeCurrentConfig } from '../../../../host/records/configs';
import { fail } from '../../../../core/errors';
import {
  CertificateUse,
  issueCertificate,
  newAuthority,
} from '../../../../tools/cluster/certificates';
import { createMachinePorts } from '../../../../workers/host/machine-ports';
import { printHostStatus, machineStatus } from '../../../../workers/host/console';
import { statusLines } from '../../../../host/status/status-text';
import { createWorkerState, readWorkerState } from '../../../../host/status/worker-state';
import { createLogger } from '../../../../process/logging';
import type { HostActivities } from '../../../../workflows/contracts/host';
import { pinKeys, TEST_KEY } from '../../../support/signed-orders';
import { aConfig, orderFor } from '../a-host';
import { enabledUnit, K3S_AGENT, layOut } from '../a-machine';

const OLD = aConfig('rendered-worker-old');
const NEW = aConfig('rendered-worker-new');
const log = createLogger({ process: 'test', level: 'silent' });

describe('the status of a machine', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'slipway-report-'));
    mkdirSync(join(root, 'etc'));
    pinKeys(join(root, 'etc'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const settings = () => ({
    node: 'worker-1',
    root,
    driver: 'none' as const,
    kubelet: {},
    orderKeysFile: join(root, 'etc/order-keys.json'),
    kubeletHealthSeconds: 0,
    inhibitorSeconds: 0,
    shutdownSeconds: 0,
  });

  async function beginUpdate(driver: UpdateHeader['driver'] = 'none'): Promise<void> {
    const { ports } = await createMachinePorts(settings());
    const order = orderFor(NEW, 'applyUpdate');
    const { bootId } = await ports.os.status();
    const journal = await ports.journal.begin(order.orderId, {
      orderId: order.orderId,
      node: order.node,
      driver,
      target: order.config,
      previous: OLD.reference,
      previousDeployment: 'none',
      before: { bootId, kernelArguments: [], extensions: [], kernelType: 'default' },
      plan: {
        units: { changed: [], removed: [] },
        reboot: true,
      } as unknown as UpdateHeader['plan'],
    });
    await journal.mark({ kind: 'applied' });
    await journal.mark({
      ...{ kind: 'armed', bootId, expected: 'none' },
      notAfter: order.notAfter,
    });
  }

  it('is short for a machine that has nothing yet', async () => {
    const report = await machineStatus(settings());

    expect(report).toMatchObject({ node: 'worker-1', problems: [], driver: { name: 'none' } });
    expect(statusLines(report)).toEqual(
      expect.arrayContaining([
        'config:     none yet',
        'update:     none open',
        'worker:     has not run in this boot',
      ]),
    );
  });

  it('says where the kubelet is, and whose places these are', async () => {
    layOut(root, K3S_AGENT);

    const { kubelet, problems } = await machineStatus({
      ...settings(),
      kubeletHealthUrl: 'http://127.0.0.1:10248/healthz',
    });
    const text = statusLines(await machineStatus(settings()));

    expect(kubelet).toMatchObject({
      distribution: 'k3s',
      kubeletUnit: 'k3s-agent.service',
      healthUrl: 'http://127.0.0.1:10248/healthz',
      missing: {},
    });
    const [agent, reached] = ['var/lib/rancher/k3s/agent', realpathSync(root)];
    expect(text).toEqual(
      expect.arrayContaining([
        'kubelet:    k3s-agent.service (k3s)',
        `            certificate ${reached}/${agent}/client-kubelet.crt, key ${reached}/${agent}/client-kubelet.key`,
        `            authority ${reached}/${agent}/server-ca.crt`,
        '            health not asked',
      ]),
    );
    // The file in place of the certificate is none.
    expect(problems).toEqual([expect.stringMatching(/client-kubelet\.crt is no certificate: /)]);
  });

  it('says which other programs would update the machine', async () => {
    layOut(root, {
      ...enabledUnit('bootc-fetch-apply-updates.timer', '/usr/lib/systemd/system', 'timers.target'),
    });

    const { problems } = await machineStatus(settings());

    expect(problems).toEqual([
      'bootc-fetch-apply-updates.timer would update or reboot this machine beside Slipway; switch off: systemctl mask --now bootc-fetch-apply-updates.timer',
    ]);
  });

  it('names what is looked for where the machine has not joined yet, which is no problem', async () => {
    layOut(root, enabledUnit('kubelet.service'));

    const report = await machineStatus(settings());
    const text = statusLines(report).join('\n');

    expect(report.problems).toEqual([]);
    expect(text).toContain('kubelet:    kubelet.service (kubelet)');
    expect(text).toContain(
      'no /var/lib/kubelet/pki/kubelet-client-current.pem yet; certificateFile',
    );
    expect(text).toContain('no /etc/kubernetes/ca.crt or /etc/kubernetes/pki/ca.crt yet');
  });

  it('says that the certificate is of another node than the machine takes itself for', async () => {
    const authority = await newAuthority('test');
    const { certificate, key } = await issueCertificate(authority, {
      subject: { commonName: 'system:node:worker-2', organizations: ['system:nodes'] },
      use: CertificateUse.CLIENT,
    });
    const pem = '/var/lib/kubelet/pki/kubelet-client-current.pem';
    layOut(root, { ...enabledUnit('kubelet.service'), [pem]: `${certificate}${key}` });

    const { problems } = await machineStatus(settings());

    expect(problems).toEqual([expect.stringMatching(/of node worker-2; set node to worker-2$/)]);
  });

  it('has the config, the open update with its phase, and what comes next', async () => {
    const { ports } = await createMachinePorts(settings());
    await writeCurrentConfig(ports.files, { ...OLD, raw: OLD.spec });
    await beginUpdate();

    const report = await machineStatus(settings());

    expect(report).toMatchObject({
      currentConfig: 'rendered-worker-old',
      update: { target: 'rendered-worker-new', previous: 'rendered-worker-old', phase: 'armed' },
    });
    const text = statusLines(report).join('\n');
    expect(text).toContain('update:     to rendered-worker-new: armed');
    expect(text).toContain('its reboot is due');
  });

  it.each([
    ['asked for', { due: true as const }, 'a reboot into the old deployment is due'],
    ['not asked for yet', {}, 'an order began it and did not end, so its reboot waits for'],
  ])('says of a rollback whether its reboot may come: %s', async (_so, due, said) => {
    await beginUpdate();
    const { ports } = await createMachinePorts(settings());
    const { bootId } = await ports.os.status();
    await (await ports.journal.open())?.mark({ kind: 'goingBack', bootId, ...due });

    const text = statusLines(await machineStatus(settings())).join('\n');

    expect(text).toContain(`rolling back: ${said}`);
  });

  it('says that the open update is of another OS driver, and still shows it', async () => {
    await beginUpdate('bootc');

    const { update, problems } = await machineStatus(settings());

    expect(update).toMatchObject({ target: 'rendered-worker-new' });
    expect(problems).toEqual([expect.stringContaining('driver: bootc') as string]);
  });

  it('has the worker, its connection and the last order, also one that failed', async () => {
    const state = createWorkerState(root, 'temporal:7233', log);
    state.connection('connected');
    const { applyUpdate } = state.watch({
      applyUpdate: async () => {
        expect(readWorkerState(root)?.lastOrder).not.toHaveProperty('endedAt');
        throw fail('ApplyFailed', 'write /etc/motd: disk full');
      },
    } as unknown as HostActivities);
    await expect(applyUpdate(orderFor(NEW, 'applyUpdate'))).rejects.toThrow();

    const { worker, problems } = await machineStatus(settings());

    expect(problems).toEqual([]);
    expect(worker).toMatchObject({
      pid: process.pid,
      running: true,
      connection: 'connected',
      lastOrder: { activity: 'applyUpdate', failure: 'ApplyFailed' },
    });
    expect(statusLines(await machineStatus(settings())).join('\n')).toMatch(
      /last order: applyUpdate of rendered-worker-new, ended .*: ApplyFailed: write \/etc\/motd/,
    );
  });

  it('changes nothing: what is left of a journal that never began is there afterwards', async () => {
    const left = join(root, 'var/lib/slipway/journal/left');
    mkdirSync(left, { recursive: true });
    writeFileSync(join(left, 'log'), '');

    expect((await machineStatus(settings())).update).toBeUndefined();

    expect(readFileSync(join(left, 'log'), 'utf8')).toBe('');
  });

  it('shows whose orders it obeys, and that it obeys none without keys', async () => {
    const well = await machineStatus(settings());
    expect(statusLines(well).join('\n')).toMatch(`orders:     obeys key ${TEST_KEY.id}`);

    rmSync(settings().orderKeysFile);

    const report = await machineStatus(settings());
    expect(report.problems).toEqual([
      expect.stringMatching(/order-keys\.json cannot be read: ENOENT/) as string,
    ]);
    expect(statusLines(report).join('\n')).toMatch('orders:     obeys none');
  });

  it('names what cannot be read, and shows the rest', async () => {
    await beginUpdate();
    const { ports } = await createMachinePorts(settings());
    const [name] = await ports.files.list('/var/lib/slipway/journal');
    const file = join(root, 'var/lib/slipway/journal', name ?? '', 'log');
    writeFileSync(file, readFileSync(file, 'utf8').replace('worker-new', 'worker-odd'));
    const written: string[] = [];

    const { orderKeysFile } = settings();
    const flags = { root, driver: 'none', node: 'worker-1', orderKeysFile };

    const isWell = await printHostStatus(flags, 'json', {
      environment: {},
      write: (text) => written.push(text),
    });

    expect(isWell).toBe(false);
    const report = JSON.parse(written.join('')) as { node: string; problems: string[] };
    expect(report.node).toBe('worker-1');
    expect(report.problems).toEqual([
      expect.stringMatching(/read journal .*; nothing was changed/),
    ]);
  });
});
