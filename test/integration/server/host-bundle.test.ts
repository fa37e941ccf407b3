/** The bundle of a pool over mutual TLS, from a real API server with the rights of deploy/rbac. */

import { createBundleClient, type BundleClient } from '../../../adapters/host';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  NODES,
  SECRETS,
} from '../../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../../core/controller-config';
import { bundleShown, type HostBundle } from '../../../core/host-bundle';
import { MCO_GROUP, MCO_VERSION } from '../../../core/names';
import { newAuthority } from '../../../tools/cluster/certificates';
import { applyManifest, eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';

jest.setTimeout(240_000);

const REFERENCE = { namespace: 'slipway', name: 'pull-secret' };
const PULL_SECRET = '/var/lib/kubelet/config.json';
const KUBELET_AUTHORITY = '/etc/kubernetes/kubelet-ca.crt';

let fixture: EndpointFixture;
let client: BundleClient;
let stop: AbortController;

beforeAll(async () => {
  fixture = await startEndpoint(['worker-0']);
  stop = new AbortController();
  await applyManifest(fixture.kube.admin, {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'MachineConfigNode',
    metadata: { name: 'worker-0' },
    spec: {
      node: { name: 'worker-0' },
      pool: { name: 'worker' },
      configVersion: { desired: 'rendered-worker-1' },
    },
  });
  client = await clientOf('worker-0');
});
afterAll(() => {
  stop?.abort();
  return fixture?.stop();
});

async function clientOf(node: string): Promise<BundleClient> {
  const { certFile, keyFile, caFile } = await fixture.credentialsOf(node);
  return createBundleClient({
    url: fixture.server.hostUrl,
    certificateFile: certFile,
    keyFile,
    authorityFile: caFile,
  });
}

const base64 = (text: string) => Buffer.from(text).toString('base64');
const textOf = (bundle: HostBundle | undefined, path: string) => {
  const file = bundle?.files.find((one) => one.path === path);
  return file && Buffer.from(file.content, 'base64').toString();
};

async function configure(spec: object): Promise<void> {
  await applyManifest(fixture.kube.admin, {
    apiVersion: `${MCO_GROUP}/${MCO_VERSION}`,
    kind: 'ControllerConfig',
    metadata: { name: CONTROLLER_CONFIG },
    spec,
  });
}

async function keepSecret(auth: string): Promise<void> {
  const { admin } = fixture.kube;
  const config = JSON.stringify({ auths: { 'registry.example.com': { auth } } });
  await admin.apply(
    SECRETS,
    {
      metadata: REFERENCE,
      ...{ type: 'kubernetes.io/dockerconfigjson', data: { '.dockerconfigjson': base64(config) } },
    },
    { fieldManager: 'test' },
  );
}

const shown = async () =>
  bundleShown(await fixture.kube.admin.get(MACHINE_CONFIG_NODES, { name: 'worker-0' }));

it('reaches a waiting host when the authority or the secret changes, and shows what it has', async () => {
  const [first, second] = [await newAuthority('first'), await newAuthority('second')];
  await keepSecret('b25l');
  const spec = { pullSecret: REFERENCE };
  await configure({ ...spec, kubeAPIServerServingCAData: base64(first.certificate) });
  let given: HostBundle | undefined;
  await eventually(async () => {
    given = await client.ask({}, stop.signal);
    expect(textOf(given, KUBELET_AUTHORITY)).toBe(first.certificate);
    expect(textOf(given, PULL_SECRET)).toContain('b25l');
  });
  const digest = given?.digest ?? '';

  const rotated = client.ask({ digest, given: digest }, stop.signal);
  await eventually(async () => {
    expect(await shown()).toMatchObject({
      status: 'True',
      reason: 'Written',
      message: `the host has bundle ${digest.slice(0, 12)} of pool worker`,
    });
  });
  await configure({ ...spec, kubeAPIServerServingCAData: base64(second.certificate) });
  const next = await rotated;
  expect(textOf(next, KUBELET_AUTHORITY)).toBe(second.certificate);

  const renewed = client.ask({ digest, given: next?.digest ?? '' }, stop.signal);
  await eventually(async () => expect((await shown())?.reason).toBe('Waiting'));
  await keepSecret('dHdv');
  expect(textOf(await renewed, PULL_SECRET)).toContain('dHdv');
});

it('goes by the labels of the node of the certificate alone', async () => {
  const master = await clientOf('master-0');

  expect(await master.ask({}, stop.signal)).toMatchObject({ pool: 'master' });
  expect(await client.ask({}, stop.signal)).toMatchObject({ pool: 'worker' });
  await fixture.kube.admin.patch(
    NODES,
    { name: 'master-0' },
    { metadata: { labels: { 'node-role.kubernetes.io/master': null } } },
  );
  await eventually(async () => {
    await expect(master.ask({}, stop.signal)).rejects.toMatchObject({ name: 'ConfigForbidden' });
  });
});

/** A wait that ends by itself takes two minutes. */
const AT_ONCE_MS = 60_000;

it(
  'ends the wait of a host at once when its node or the selector of a pool changes',
  async () => {
    const label = (of: object) =>
      fixture.kube.admin.patch(NODES, { name: 'worker-0' }, { metadata: { labels: of } });
    const select = (nodeSelector: object) =>
      fixture.kube.admin.patch(
        MACHINE_CONFIG_POOLS,
        { name: 'master' },
        { spec: { nodeSelector } },
      );
    const given = (await client.ask({}, stop.signal))?.digest ?? '';
    const waitingIn = async (pool: string) => {
      const answer = client.ask({ digest: given, given }, stop.signal);
      await eventually(async () => expect((await shown())?.message).toContain(`pool ${pool}`));
      return { answer };
    };

    const inWorker = await waitingIn('worker');
    await label({ 'node-role.kubernetes.io/worker': null, 'node-role.kubernetes.io/master': '' });
    expect(await inWorker.answer).toBeUndefined();
    const inMaster = await waitingIn('master');
    await select({ matchLabels: { nothing: '' } });
    await expect(inMaster.answer).resolves.toBeUndefined();

    await select({ matchLabels: { 'node-role.kubernetes.io/master': '', nothing: null } });
    await label({ 'node-role.kubernetes.io/worker': '', 'node-role.kubernetes.io/master': null });
  },
  AT_ONCE_MS,
);

it('cannot read another Secret, says so, and gives the rest', async () => {
  const { certificate } = await newAuthority('third');
  await configure({
    kubeAPIServerServingCAData: base64(certificate),
    pullSecret: { namespace: 'slipway', name: 'another' },
  });

  await eventually(async () => {
    const bundle = await client.ask({}, stop.signal);
    expect(textOf(bundle, KUBELET_AUTHORITY)).toBe(certificate);
    expect(bundle?.keeps).toEqual([PULL_SECRET]);
    const given = bundle?.digest ?? '';
    void client.ask({ digest: given, given }, stop.signal).catch(() => undefined);
  });
  await eventually(async () => {
    expect(await shown()).toMatchObject({
      status: 'False',
      reason: 'InvalidSource',
      message: expect.stringMatching(
        /spec\.pullSecret names a Secret .*let the server read/,
      ) as string,
    });
  });
  expect((await fixture.kube.admin.list(CONTROLLER_CONFIGS)).items).toHaveLength(1);
});
