/** `slipway os` with a real registry, a real API server and the controllers. */

import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  OS_IMAGE_STREAMS,
} from '../../../adapters/kube/resources';
import { RegistryClient } from '../../../adapters/registry';
import { osSet, type OsSetOptions } from '../../../cli/commands/os-set';
import { osStatus } from '../../../cli/commands/os-status';
import { kubeCluster } from '../../../cli/kube-cluster';
import type { CliContext } from '../../../cli/ports';
import { ANNOTATION } from '../../../core/names';
import { pushImage, pushPayload, startRegistry, type Registry } from '../../../tools/registry';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  condition,
  createNode,
  roleSelector,
  useControllers,
} from '../controllers/fixture';
import { aContext } from '../../unit/cli/os-context';

jest.setTimeout(120_000);

const nothing = (): void => undefined;
const QUIET = { debug: nothing, info: nothing, warn: nothing, error: nothing };
const CONFIG = { name: 'machine-config-controller' };

const fixture = useControllers();
let registry: Registry;
/** By digest. */
const images: Record<'one' | 'two' | 'packages', string> = { one: '', two: '', packages: '' };

beforeAll(async () => {
  registry = await startRegistry();
  const os = `${registry.address}/okd/os`;
  for (const name of ['one', 'two', 'packages'] as const) {
    images[name] = await pushImage(os, name, [{ 'usr/lib/os-release': name }]);
  }
  const { client } = fixture.api;
  for (const name of ['worker', 'gpu']) {
    await client.create(MACHINE_CONFIGS, aConfig(`00-${name}`, name, [aFile('/etc/a', name)]));
  }
  await client.create(MACHINE_CONFIG_POOLS, aPool('worker'));
  const machineConfigSelector = roleSelector('worker', 'gpu');
  await client.create(MACHINE_CONFIG_POOLS, aPool('gpu', { machineConfigSelector }));
});

afterAll(async () => {
  await registry?.stop();
});

function person(): {
  readonly context: CliContext;
  readonly out: string[];
  readonly err: string[];
} {
  const { client } = fixture.api;
  const { os, read } = kubeCluster(client, QUIET);
  const { context, out, err } = aContext(os, {});
  return {
    context: { ...context, cluster: async () => ({ ...(await context.cluster()), os, read }) },
    out,
    err,
  };
}

async function set(image: string | undefined, options: Omit<OsSetOptions, 'registry'> = {}) {
  const { context, err } = person();
  const registries = new RegistryClient({ HOME: '/nonexistent' }, context.signal);
  await osSet(context, image, { ...options, registry: registries });
  return err.join('');
}

/** The pool is rendered with these images. */
async function renderedWith(pool: string, osImage: string, extensions: string): Promise<void> {
  const { configs } = fixture.observer;
  const found = () =>
    configs.list().find(({ metadata, spec }) => {
      const isOfPool = metadata.name.startsWith(`rendered-${pool}-`);
      const { osImageURL, baseOSExtensionsContainerImage } = spec;
      return isOfPool && osImageURL === osImage && baseOSExtensionsContainerImage === extensions;
    })?.metadata.name;
  await fixture.observer.until(configs, () => found() !== undefined);
  await fixture.observer.pool(pool, ({ spec }) => spec.configuration?.name === found());
}

describe('slipway os', () => {
  it('sets OS and extensions image of a release, by digest, in every pool', async () => {
    const repository = `${registry.address}/okd/release`;
    const payload = await pushPayload({
      ...{ repository, tag: '4.20', version: '4.20.0' },
      images: {
        'machine-config-operator': images.two,
        'stream-coreos': images.one,
        // By tag, as no release should have it.
        'stream-coreos-extensions': `${registry.address}/okd/os:packages`,
      },
    });

    const told = await set(undefined, { release: `${repository}:4.20` });

    expect(told).toContain(
      `OS image ${images.one}, extensions image ${images.packages} (release 4.20.0, ${payload})`,
    );
    for (const pool of ['worker', 'gpu']) {
      await renderedWith(pool, images.one, images.packages);
    }
    const stored = await fixture.api.client.get(CONTROLLER_CONFIGS, CONFIG);
    expect(stored.metadata.annotations?.[ANNOTATION.RELEASE_IMAGE_VERSION]).toBe('4.20.0');
    const { context, out } = person();
    await osStatus(context, 'json');
    expect(JSON.parse(out.join(''))).toMatchObject({
      cluster: { osImage: images.one, releaseImage: payload, version: '4.20.0' },
      pools: [
        { pool: 'gpu', images: [{ image: images.one, wantedBy: 'ControllerConfig' }] },
        { pool: 'worker', images: [{ image: images.one, wantedBy: 'ControllerConfig' }] },
      ],
    });
  });

  it('sets another image of one pool, which the next one of the cluster leaves alone', async () => {
    await set(`${registry.address}/okd/os:two`, { pool: 'gpu' });
    await renderedWith('gpu', images.two, images.packages);
    const shown = await fixture.observer.pool(
      'gpu',
      (pool) => condition(pool, 'OSImageOverridden') !== undefined,
    );
    expect(condition(shown, 'OSImageOverridden')?.message).toContain('MachineConfig 99-gpu-os');

    const told = await set(images.packages);
    expect(told).toContain('the way back: slipway os set --release ');
    expect(told).toContain(`pool gpu keeps ${images.two} of MachineConfig 99-gpu-os`);
    await renderedWith('worker', images.packages, '');
    await renderedWith('gpu', images.two, '');
  });

  it('keeps nothing of a release beside an image that is not of it', async () => {
    const { metadata, spec } = (await fixture.api.client.get(CONTROLLER_CONFIGS, CONFIG)) as {
      readonly metadata: { readonly annotations?: object };
      readonly spec?: object;
    };
    expect(metadata.annotations ?? {}).not.toHaveProperty(ANNOTATION.RELEASE_IMAGE_VERSION);
    expect(spec).toEqual({
      ...{ baseOSContainerImage: images.packages, baseOSExtensionsContainerImage: '' },
    });
  });

  it('writes the streams of a release with several operating systems, and a pool has the one it chose', async () => {
    const { client } = fixture.api;
    const osImageStream = { name: 'rhel-10' };
    await client.create(MACHINE_CONFIGS, aConfig('00-ten', 'ten', [aFile('/etc/a', 'ten')]));
    await client.create(MACHINE_CONFIG_POOLS, aPool('ten', { osImageStream }));
    const labels = { 'io.openshift.os.streamclass': 'rhel-10' };
    const os = `${registry.address}/okd/os`;
    const ten = await pushImage(os, 'ten', [{ 'usr/lib/os-release': 'ten' }], labels);
    const repository = `${registry.address}/okd/release`;
    await pushPayload({
      ...{ repository, tag: '4.21', version: '4.21.0' },
      images: {
        ...{ 'rhel-coreos': images.one, 'rhel-coreos-extensions': images.packages },
        ...{ 'rhel-coreos-10': ten, 'rhel-coreos-10-extensions': images.two },
      },
    });

    const told = await set(undefined, { release: `${repository}:4.21` });

    expect(told).toContain('OSImageStream cluster: rhel-coreos, rhel-10\n');
    await renderedWith('ten', ten, images.two);
    await renderedWith('worker', images.one, images.packages);
    expect(await client.get(OS_IMAGE_STREAMS, { name: 'cluster' })).toMatchObject({
      status: { defaultStream: 'rhel-coreos' },
    });
    const { context, out } = person();
    await osStatus(context, 'table');
    expect(out.join('')).toMatch(/^ten .* stream rhel-10 /m);
  });

  it('shows nodes that have no config, and pools without one', async () => {
    const { client } = fixture.api;
    await client.create(MACHINE_CONFIG_POOLS, aPool('bare'));
    await createNode(client, aNode('b1', ['bare']));
    const { context, out } = person();
    await osStatus(context, 'json');
    expect(JSON.parse(out.join(''))).toMatchObject({
      pools: expect.arrayContaining([
        { pool: 'bare', nodes: 1, images: [{ image: 'unknown', staged: 0, booted: 1 }] },
      ]) as unknown,
    });
  });

  it('refuses an image that is no release, and changes nothing', async () => {
    const before = await fixture.api.client.get(CONTROLLER_CONFIGS, CONFIG);
    await expect(set(undefined, { release: images.one })).rejects.toThrow(
      `image ${images.one} has no release-manifests/image-references, so it is no release`,
    );
    expect(await fixture.api.client.get(CONTROLLER_CONFIGS, CONFIG)).toEqual(before);
  });
});
