/** The pinned images of a pool over mutual TLS, from a real API server with the rights of deploy/rbac. */

import { askForPinnedImages } from '../../../adapters/host';
import {
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  PINNED_IMAGE_SETS,
} from '../../../adapters/kube/resources';
import { MCO_GROUP, MCO_VERSION } from '../../../core/names';
import {
  allThere,
  type PinnedImages,
  type PinnedReport,
  pinnedShown,
  sealedImages,
} from '../../../core/pinned-images';
import { applyManifest, eventually } from '../kube/fixture';
import { startEndpoint, type EndpointFixture } from './endpoint-fixture';

jest.setTimeout(240_000);

const image = (digit: string): string => `registry.example.com/app@sha256:${digit.repeat(64)}`;
const { signal } = new AbortController();

let fixture: EndpointFixture;
let ask: (report: PinnedReport) => Promise<PinnedImages | undefined>;

beforeAll(async () => {
  fixture = await startEndpoint(['worker-0']);
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
  const { certFile, keyFile, caFile } = await fixture.credentialsOf('worker-0');
  const endpoint = { url: fixture.server.hostUrl, certificateFile: certFile, keyFile };
  ask = (report) => askForPinnedImages({ ...endpoint, authorityFile: caFile }, report, signal);
});

afterAll(() => fixture?.stop());

const shown = async () =>
  pinnedShown(await fixture.kube.admin.get(MACHINE_CONFIG_NODES, { name: 'worker-0' })).map(
    ({ type, status, message }) => `${type} ${status}: ${message}`,
  );

async function pin(...images: readonly string[]): Promise<void> {
  const { admin } = fixture.kube;
  const pinnedImages = images.map((name) => ({ name }));
  const how = { fieldManager: 'a-person' };
  await admin.apply(
    PINNED_IMAGE_SETS,
    { metadata: { name: 'release' }, spec: { pinnedImages } },
    how,
  );
}

it('says nothing of a node whose pool has none', async () => {
  await eventually(async () => expect(await ask({ present: 0 })).toMatchObject({ images: [] }));
  expect(await shown()).toEqual([]);
});

it('gives a host the images of its pool, and shows how far it is', async () => {
  const spec = { pinnedImageSets: [{ name: 'release' }] };
  await fixture.kube.admin.patch(MACHINE_CONFIG_POOLS, { name: 'worker' }, { spec });
  const none = sealedImages('worker', []);
  await eventually(async () => {
    await ask({ given: none.digest, present: 0 });
    expect(await shown()).toEqual([
      `PinnedImageSetsProgressing False: ${allThere(none)}`,
      'PinnedImageSetsDegraded True: machineconfigpool worker: spec.pinnedImageSets[0].name: there is no PinnedImageSet release; make it, or remove the entry',
    ]);
  });

  await pin(image('2'), image('1'));
  let given: PinnedImages | undefined;
  await eventually(async () => {
    given = await ask({ present: 0 });
    expect(given?.images).toEqual([image('1'), image('2')]);
  });
  const digest = given?.digest ?? '';
  expect(await ask({ given: digest, present: 1, problem: 'the registry is away' })).toBeUndefined();
  expect(await shown()).toEqual([
    'PinnedImageSetsProgressing True: 1 of 2 pinned images are there',
    'PinnedImageSetsDegraded True: the registry is away',
  ]);
  expect(await ask({ given: digest, present: 2 })).toBeUndefined();
  expect(await shown()).toEqual([
    `PinnedImageSetsProgressing False: all 2 pinned images are on the machine (list ${digest.slice(0, 12)})`,
    'PinnedImageSetsDegraded False: no pinned image has failed',
  ]);
});

it('gives a host also the images of a set with the label of its pool', async () => {
  const role = 'machineconfiguration.openshift.io/role';
  const set = { metadata: { name: 'labelled', labels: { [role]: 'worker' } } };
  const spec = { pinnedImages: [{ name: image('3') }] };
  await fixture.kube.admin.apply(PINNED_IMAGE_SETS, { ...set, spec }, { fieldManager: 'a-person' });
  await eventually(async () => {
    const given = await ask({ present: 0 });
    expect(given?.images).toEqual([image('1'), image('2'), image('3')]);
  });
});

it('refuses a report that is none', async () => {
  const odd = { present: -1, secret: 'x' } as unknown as PinnedReport;
  await expect(ask(odd)).rejects.toMatchObject({
    name: 'ConfigFetchFailed',
    message: expect.stringContaining('400 present: ') as unknown,
  });
});
