/** The machines of a paused pool get rotated authorities and secrets, without a rollout and without a boot. */

import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { createBundleClient } from '../../adapters/host';
import { failureName } from '../../core/errors';
import type { Credentials } from '../../tools/cluster/certificates';
import { CertificateUse, issueCertificate, newAuthority } from '../../tools/cluster/certificates';
import { repositoryRoot } from '../../tools/repository-root';
import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { until as eventually } from '../integration/tools/until';
import { PATIENCE_MS } from './machine/deadline';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { POOL } from './support/fleet';
import { rootOf } from './support/picture';
import { startWorld, STORY_MS, type World } from './support/world';

const GROUP = 'machineconfiguration.openshift.io';
const CONTROLLER_CONFIG = `/apis/${GROUP}/v1/controllerconfigs/machine-config-controller`;
const KUBELET_AUTHORITY = '/etc/kubernetes/kubelet-ca.crt';
const KUBECONFIG = '/etc/kubernetes/kubeconfig';
const PULL_SECRET = '/var/lib/kubelet/config.json';
const REGISTRY = '/etc/docker/certs.d/registry.example.com:5000/ca.crt';
const KUBELET = readFileSync(
  join(repositoryRoot(), 'test/hosts/image/common/etc/kubernetes/kubelet.yaml'),
  'utf8',
).replace('clientCAFile: /etc/kubernetes/ca.crt', `clientCAFile: ${KUBELET_AUTHORITY}`);

let world: World;
let first: Credentials;
let second: Credentials;

aroundAll(async (lifetime) => {
  [first, second] = [
    await newAuthority('kubelet-client-1'),
    await newAuthority('kubelet-client-2'),
  ];
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  await configure({ kubeAPIServerServingCAData: base64(first.certificate) });
  await bundleShows(/^the host has bundle/, 'Written');
  const config = await world.roll(
    hostConfig('50-kubelet', { files: [plainFile('/etc/kubernetes/kubelet.yaml', KUBELET)] }),
  );
  await world.allUpdatedTo(config);
  await world.atRest(world.machine.name);
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const textOf = (path: string) => readFileSync(join(rootOf(world.machine), path), 'utf8');
const configure = (spec: object) => world.api.call('PATCH', CONTROLLER_CONFIG, { spec });
const pause = (paused: boolean) =>
  world.api.call('PATCH', `/apis/${GROUP}/v1/machineconfigpools/${POOL}`, { spec: { paused } });
const shown = () => world.record.machineConfigNode(world.machine.name)?.conditions['HostBundle'];

const bundleShows = (message: RegExp, reason: string) =>
  world.until(`the bundle of ${world.machine.name} is ${reason}`, () => {
    const condition = shown();
    return condition?.reason === reason && message.test(condition.message ?? '');
  });

async function untilOnDisk(path: string, text: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = await world.machine.run('cat', path);
    if (now.out.includes(text)) return;
    if (performance.now() > deadline) throw new Error(`${path} is ${now.out}${now.err}`);
  }
}

/** What the kubelet answers to a client with a certificate of this authority. */
async function kubeletAnswers(authority: Credentials): Promise<number> {
  const { certificate: cert, key } = await issueCertificate(authority, {
    subject: { commonName: 'kube-apiserver' },
    use: CertificateUse.CLIENT,
  });
  const { address } = world.machine.network;
  return new Promise((resolve, reject) => {
    const asked = request(
      `https://${address}:10250/healthz`,
      // The kubelet signs its own certificate.
      { cert, key, agent: false, rejectUnauthorized: false },
      (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}

async function untilKubeletAnswers(authority: Credentials, status: number): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const now = await kubeletAnswers(authority);
    if (now === status) return;
    if (performance.now() > deadline) throw new Error(`the kubelet answers ${now}, not ${status}`);
  }
}

test(
  'a rotated authority reaches the kubelets of a paused pool',
  async () => {
    const { machine, record } = world;
    await untilKubeletAnswers(first, 200);
    expect(await kubeletAnswers(second)).toBe(401);
    await pause(true);
    const before = world.node(machine.name).annotations;
    // A rollout is due, and does not run.
    await world.roll(hostConfig('60-later', { files: [plainFile('/etc/later.conf', 'later\n')] }));
    const mark = markOf(record);

    await configure({ kubeAPIServerServingCAData: base64(first.certificate + second.certificate) });

    await untilOnDisk(KUBELET_AUTHORITY, second.certificate);
    await untilKubeletAnswers(second, 200);
    await untilKubeletAnswers(first, 200);
    await configure({ kubeAPIServerServingCAData: base64(second.certificate) });
    await untilKubeletAnswers(first, 401);
    expect(await kubeletAnswers(second)).toBe(200);
    await bundleShows(/^the host has bundle/, 'Written');
    expect(world.node(machine.name).annotations).toMatchObject({
      [`${GROUP}/currentConfig`]: before[`${GROUP}/currentConfig`],
    });
    expect(rebootsOf(record, machine.name, mark)).toEqual([]);
    expect(wasEverCordoned(record, machine.name, mark)).toBe(false);
  },
  STORY_MS,
);

test(
  'the pull secret and the authorities of registries follow, for root alone, and are in no config',
  async () => {
    const { api, machine } = world;
    const secret = (auth: string) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'pull-secret', namespace: 'slipway' },
      type: 'kubernetes.io/dockerconfigjson',
      data: { '.dockerconfigjson': base64(JSON.stringify({ auths: { a: { auth } } })) },
    });
    await world.fleet.manifests.applyObject(secret('c3RvcnktMQ=='));
    await configure({
      pullSecret: { namespace: 'slipway', name: 'pull-secret' },
      imageRegistryBundleData: [
        { file: 'registry.example.com..5000', data: base64(first.certificate) },
      ],
    });
    await untilOnDisk(PULL_SECRET, 'c3RvcnktMQ==');
    await untilOnDisk(REGISTRY, first.certificate);
    expect(await machine.output('stat', '--format=%a %U', PULL_SECRET)).toMatch(/^600 root/);

    await world.fleet.manifests.applyObject(secret('c3RvcnktMg=='));
    await untilOnDisk(PULL_SECRET, 'c3RvcnktMg==');
    await configure({ imageRegistryBundleData: [] });
    await world.until('the authority of the registry is gone', () => {
      try {
        textOf(REGISTRY);
        return false;
      } catch {
        return true;
      }
    });
    const configs = await api.call<object>('GET', `/apis/${GROUP}/v1/machineconfigs`);
    const told = await machine.output('journalctl', '--no-pager', '--unit=slipway-host.service');
    for (const text of [JSON.stringify(configs), told, JSON.stringify(shown())]) {
      expect(text).not.toMatch(/c3RvcnktM/);
    }
  },
  STORY_MS,
);

test(
  'the kubelet trusts a rotated authority of the API server, and never one that does not fit',
  async () => {
    const { cluster } = world.fleet;
    const { name } = world.machine;
    const before = textOf(KUBECONFIG);
    await configure({ rootCAData: base64(second.certificate) });
    await bundleShows(/not recognised by spec\.rootCAData/, 'NotWritten');
    expect(textOf(KUBECONFIG)).toBe(before);

    await configure({ rootCAData: base64(cluster.ca + second.certificate) });
    await untilOnDisk(KUBECONFIG, base64(`${cluster.ca}${second.certificate}`));
    await bundleShows(/^the host has bundle/, 'Written');
    await world.until(`${name} is ready`, () => world.node(name).ready);
  },
  STORY_MS,
);

test(
  'a wrong field is said with its path, and the machine keeps what it has',
  async () => {
    const before = textOf(KUBELET_AUTHORITY);
    await configure({ kubeAPIServerServingCAData: base64('no certificate') });

    await bundleShows(
      /spec\.kubeAPIServerServingCAData holds no certificate in PEM/,
      'InvalidSource',
    );
    expect(textOf(KUBELET_AUTHORITY)).toBe(before);
    await configure({ kubeAPIServerServingCAData: base64(second.certificate) });
    await bundleShows(/^the host has bundle/, 'Written');
  },
  STORY_MS,
);

test(
  'a host of no pool, or of another one, gets nothing of this pool',
  async () => {
    const { cluster, product } = world.fleet;
    const bundleFor = async (node: string) => {
      const { certFile, keyFile, caFile } = await cluster.nodeCredentials(node);
      return createBundleClient({
        url: product.hostEndpoint,
        certificateFile: certFile,
        keyFile,
        authorityFile: caFile,
      }).ask({});
    };

    await expect(bundleFor('elsewhere')).rejects.toMatchObject({
      name: 'ConfigForbidden',
      message: expect.stringContaining('node elsewhere is in no pool') as string,
    });
    const label = (value: string | null) =>
      world.api.call('PATCH', '/api/v1/nodes/elsewhere', {
        metadata: { labels: { 'node-role.kubernetes.io/control-plane': value } },
      });
    await label('');
    const poolOf = async (node: string) => {
      try {
        return (await bundleFor(node))?.pool;
      } catch (error) {
        // The server may not have heard of the label yet.
        if (failureName(error) === 'ConfigForbidden') return undefined;
        throw error;
      }
    };
    await eventually(async () => (await poolOf('elsewhere')) === 'master', 'the label is heard');
    expect(await bundleFor(world.machine.name)).toMatchObject({ pool: POOL });
    await label(null);
  },
  STORY_MS,
);

test(
  'the rollout that was due runs when the pool goes on',
  async () => {
    await pause(false);
    await world.allUpdatedTo(world.target());
    expect(await kubeletAnswers(second)).toBe(200);
  },
  STORY_MS,
);
