/** Drift from the disk of a host, through the real server, to the real API server and back. */

import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIGURATIONS,
  NODES,
  ROLLOUT_POLICIES,
} from '../../../adapters/kube/resources';
import { connectKube } from '../../../adapters/kube';
import { createReportClient, type ReportClient } from '../../../adapters/host';
import { driftCondition } from '../../../core/drift';
import type { DriftReport } from '../../../core/drift';
import { updatersShown } from '../../../core/machine/updaters';
import { FIELD_MANAGER } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import type { MachineConfigNode } from '../../../core/node/types';
import { rfc3339 } from '../../../core/rfc3339';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { applyManifest, eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from '../server/endpoint-fixture';
import { startHosts, type HostsHere } from './simulated-hosts';

jest.setTimeout(240_000);

const HOSTS = ['worker-0', 'worker-1'];
const CONFIG = 'rendered-worker-1';
const SPEC = {
  osImageURL: 'quay.io/os@sha256:1',
  baseOSExtensionsContainerImage: '',
  kernelArguments: [],
  extensions: [],
  fips: false,
  kernelType: 'default',
  config: {
    ignition: { version: '3.5.0' },
    storage: {
      files: [
        { path: '/etc/motd', contents: { source: 'data:,right' } },
        { path: '/etc/reboots', contents: { source: 'data:,right' } },
      ],
    },
  },
};

let endpoint: EndpointFixture;
let temporal: TemporalServer;
let hosts: HostsHere;

beforeAll(async () => {
  [endpoint, temporal] = await Promise.all([
    startEndpoint([...HOSTS, 'no-state']),
    startTemporal({ ui: false }),
  ]);
  await endpoint.addConfig(CONFIG, 'worker', SPEC);
  await endpoint.setTarget('worker', CONFIG);
  for (const node of HOSTS) await addState(node);
  hosts = await startHosts(endpoint, temporal, { nodes: HOSTS, firstBoot: CONFIG });
});

afterAll(async () => {
  await hosts?.stop();
  await temporal?.stop();
  await endpoint?.stop();
});

async function addState(node: string): Promise<void> {
  const { admin } = endpoint.kube;
  await admin.create(MACHINE_CONFIG_NODES, {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfigNode',
    metadata: { name: node },
    spec: {
      node: { name: node },
      pool: { name: 'worker' },
      configVersion: { desired: CONFIG },
    },
  } as MachineConfigNode);
}

const state = (node: string) => endpoint.kube.admin.get(MACHINE_CONFIG_NODES, { name: node });
const real = (node: string, path: string) => join(hosts.directory, node, path);
const write = (node: string, path: string, text: string) =>
  writeFileSync(real(node, path), text, { mode: 0o644 });

async function shown(node: string, status: 'True' | 'False'): Promise<MachineConfigNode> {
  return eventually(async () => {
    const known = await state(node);
    expect(driftCondition(known)?.status).toBe(status);
    return known;
  });
}

async function reporterOf(node: string): Promise<ReportClient> {
  const { certFile, keyFile, caFile } = await endpoint.credentialsOf(node);
  return createReportClient({
    url: endpoint.server.hostUrl,
    certificateFile: certFile,
    keyFile,
    authorityFile: caFile,
  });
}

const CLEAN: DriftReport = { config: CONFIG, findings: [], count: 0, repairs: [], forced: false };

describe('a file that somebody changes on a host', () => {
  it('is shown by path within seconds, never by content, and goes when it is put back', async () => {
    // A Node without a config: its host has reported the one that it came with.
    expect((await shown('worker-0', 'False')).status?.drift).toMatchObject({ config: CONFIG });

    write('worker-0', '/etc/motd', 'a secret of the one who changed it');
    const drifted = await shown('worker-0', 'True');

    expect(driftCondition(drifted)).toMatchObject({
      reason: 'ConfigDrift',
      message: `unexpected on-disk state validating against ${CONFIG}: content mismatch for file "/etc/motd"`,
    });
    expect(drifted.status?.drift).toMatchObject({
      config: CONFIG,
      count: 1,
      findings: [{ path: '/etc/motd', kind: 'content' }],
    });
    expect(JSON.stringify(drifted)).not.toContain('secret');

    write('worker-0', '/etc/motd', 'right');
    const again = await shown('worker-0', 'False');
    expect(again.status?.drift).toMatchObject({ count: 0, findings: [] });
  });

  it('stays shown when an update writes its own conditions', async () => {
    write('worker-0', '/etc/motd', 'wrong');
    const drifted = await shown('worker-0', 'True');
    const now = rfc3339(new Date());
    const conditions = mcnConditions('Preparing', drifted.status?.conditions, {
      config: CONFIG,
      now,
    });
    await endpoint.kube.admin.apply(
      MACHINE_CONFIG_NODES,
      { metadata: { name: 'worker-0' }, status: { conditions } },
      { fieldManager: FIELD_MANAGER.CLUSTER_WORKER, subresource: 'status' },
    );
    expect(driftCondition(await state('worker-0'))).toEqual(driftCondition(drifted));

    write('worker-0', '/etc/motd', 'right');

    const clean = await shown('worker-0', 'False');
    expect(clean.status?.conditions?.length).toBe(conditions.length + 1);
  });
});

describe('another program that would update a machine', () => {
  it('is a condition of its own, beside those of updates, until it is switched off', async () => {
    const timer = 'rpm-ostreed-automatic.timer';
    const own = `/etc/systemd/system/${timer}`;
    const wants = '/etc/systemd/system/timers.target.wants';
    const before = (await state('worker-0')).status?.conditions ?? [];
    mkdirSync(real('worker-0', wants), { recursive: true });
    write('worker-0', own, '[Timer]\nOnBootSec=1h\n');
    symlinkSync(own, real('worker-0', `${wants}/${timer}`));

    const said = await eventually(async () => {
      const condition = updatersShown(await state('worker-0'));
      expect(condition).toBeDefined();
      return condition;
    });
    rmSync(real('worker-0', `${wants}/${timer}`));

    expect(said).toMatchObject({ status: 'True', reason: 'UpdaterEnabled' });
    expect(said?.message).toContain(`switch off: systemctl mask --now ${timer}`);
    await eventually(async () => {
      expect((await state('worker-0')).status?.conditions).toEqual(before);
    });
  });
});

describe('a pool that wants repair', () => {
  beforeAll(async () => {
    const { admin } = endpoint.kube;
    await applyManifest(admin, {
      apiVersion: 'operator.openshift.io/v1',
      kind: 'MachineConfiguration',
      metadata: { name: 'cluster' },
      spec: {
        nodeDisruptionPolicy: { files: [{ path: '/etc/motd', actions: [{ type: 'None' }] }] },
      },
    });
    await applyManifest(admin, {
      apiVersion: 'slipway.dev/v1alpha1',
      kind: 'RolloutPolicy',
      metadata: { name: 'worker' },
      spec: { drift: 'Repair', repair: { limit: 2 } },
    });
    expect((await admin.get(ROLLOUT_POLICIES, { name: 'worker' })).spec?.drift).toBe('Repair');
    expect((await admin.get(MACHINE_CONFIGURATIONS, { name: 'cluster' })).spec).toBeDefined();
    const reporter = await reporterOf('worker-1');
    await eventually(async () => {
      const { answer } = await reporter.report(CLEAN);
      expect(answer.drift).toEqual({ mode: 'Repair', limit: 2, intervalSeconds: 3600 });
      expect(answer.disruptionPolicies.files).toHaveLength(1);
      expect(answer.mayDisturb).toBe(false);
    });
  });

  it('has a file rewritten so often, and then only shown', async () => {
    for (const round of [1, 2]) {
      write('worker-1', '/etc/motd', `wrong ${round}`);
      await eventually(async () => {
        const { status } = await state('worker-1');
        expect(status?.drift?.repairs).toHaveLength(round);
        expect(status?.drift?.count).toBe(0);
      });
      expect(readFileSync(real('worker-1', '/etc/motd'), 'utf8')).toBe('right');
    }

    write('worker-1', '/etc/motd', 'wrong for good');

    const given = await eventually(async () => {
      const known = await state('worker-1');
      expect(known.status?.drift?.unrepaired).toBeDefined();
      return known;
    });
    expect(driftCondition(given)?.message).toContain('/etc/motd drifts again and again');
    expect(readFileSync(real('worker-1', '/etc/motd'), 'utf8')).toBe('wrong for good');
  });

  it('has nothing rewritten that takes effect at a reboot only', async () => {
    rmSync(real('worker-0', '/etc/reboots'));

    const drifted = await eventually(async () => {
      const known = await state('worker-0');
      expect(known.status?.drift?.unrepaired).toBeDefined();
      return known;
    });

    expect(drifted.status?.drift).toMatchObject({
      findings: [{ path: '/etc/reboots', kind: 'missing' }],
      unrepaired: 'not repaired: /etc/reboots takes effect at a reboot only',
    });
    expect(existsSync(real('worker-0', '/etc/reboots'))).toBe(false);
  });
});

describe('a report', () => {
  it('is accepted from a node about itself, and from no other', async () => {
    const stranger = await reporterOf('stranger');
    await expect(stranger.report(CLEAN)).rejects.toMatchObject({
      name: 'ConfigFetchFailed',
      message: expect.stringContaining('node stranger is not known to the cluster') as string,
    });
    const own = await reporterOf('worker-0');
    const forged = { ...CLEAN, node: 'worker-1' } as DriftReport;
    await expect(own.report(forged)).rejects.toMatchObject({
      name: 'ConfigForbidden',
      message: expect.stringContaining('400 body: Unrecognized key: "node"') as string,
    });
    const early = await reporterOf('no-state');
    await expect(early.report(CLEAN)).rejects.toMatchObject({
      message: expect.stringContaining('there is no MachineConfigNode no-state yet') as string,
    });
    const files = await endpoint.kube.cluster.serverCertificate('nobody', ['127.0.0.1']);
    const nobody = createReportClient({
      url: endpoint.server.hostUrl,
      certificateFile: files.certFile,
      keyFile: files.keyFile,
      authorityFile: files.caFile,
    });
    await expect(nobody.report(CLEAN)).rejects.toMatchObject({
      name: expect.stringMatching(/ConfigFetchFailed|ConfigForbidden/) as string,
    });
  });

  it('is all that the server can write', async () => {
    const { cluster, log } = endpoint.kube;
    const server = await connectKube({
      kubeconfig: await cluster.kubeconfigFor({ commonName: 'slipway-server' }),
      userAgent: 'slipway-tests',
      log,
    });
    const manager = { fieldManager: FIELD_MANAGER.SERVER };

    await expect(
      server.patch(NODES, { name: 'worker-0' }, { metadata: { annotations: { a: 'b' } } }, manager),
    ).rejects.toMatchObject({ name: 'ApiForbidden' });
    await expect(
      server.patch(MACHINE_CONFIG_NODES, { name: 'worker-0' }, { spec: {} }, manager),
    ).rejects.toMatchObject({ name: 'ApiForbidden' });
    server.close();
  });
});
