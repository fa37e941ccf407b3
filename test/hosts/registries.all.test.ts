/** A pod is pulled through a mirror of its registry, without a reboot; a blocked registry is not asked. */

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execute } from './execute';
import { REGISTRY } from './machine/os-registry';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile } from './support/configs';
import { CONTAINERD_CONFIG } from './support/containerd';
import { POOL } from './support/fleet';
import { rootOf } from './support/picture';
import { hostNetworkPods } from './support/pods';
import { startWorld, STORY_MS, type World } from './support/world';

const CONFIG = 'config.openshift.io/v1';
/** No machine knows an address of it. */
const SOURCE = 'quay.test';
const IMAGE = 'team/workload';
const ARCHIVE = 'usr/lib/node/images/images-test-workload-.tar';
const RUNTIME = `01-${POOL}-container-runtime`;
const HOSTS = `/etc/containerd/certs.d/${SOURCE}/hosts.toml`;
let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  for (const tag of ['1', '2']) await push(tag);
  const config = await world.roll(
    hostConfig(RUNTIME, { files: [plainFile('/etc/containerd/config.toml', CONTAINERD_CONFIG)] }),
  );
  await world.allUpdatedTo(config);
});

/** The image of the suite's pods, which only the mirror has under this name. */
async function push(tag: string): Promise<void> {
  const archive = join(world.fleet.registry.directory, `workload-${tag}.tar`);
  await copyFile(join(rootOf(world.machine), ARCHIVE), archive);
  await execute('skopeo', [
    ...['copy', '--quiet', '--dest-tls-verify=false'],
    ...[`oci-archive:${archive}`, `docker://${REGISTRY}/${IMAGE}:${tag}`],
  ]);
}

const object = (kind: string, name: string, spec: object) => ({
  ...{ apiVersion: CONFIG, kind, metadata: { name }, spec },
});

/** As containerd pulls for a kubelet. */
function pull(image: string) {
  return world.machine.run(
    ...['ctr', '-n', 'k8s.io', 'images', 'pull', '--hosts-dir', '/etc/containerd/certs.d'],
    image,
  );
}

test(
  'mirrors cost no reboot, and the next pod is pulled through them',
  async () => {
    const { fleet, machine } = world;
    const boots = machine.launcher.boots();
    const insecure = await world.roll(
      object('Image', 'cluster', { registrySources: { insecureRegistries: [REGISTRY] } }),
    );
    await world.allUpdatedTo(insecure);
    const config = await world.roll(
      object('ImageTagMirrorSet', 'mirrors', {
        imageTagMirrors: [{ source: SOURCE, mirrors: [REGISTRY] }],
      }),
    );
    await world.allUpdatedTo(config);
    expect(await machine.output('cat', HOSTS)).toContain(REGISTRY);

    const pods = JSON.stringify(hostNetworkPods('mirrored'));
    const image = `${SOURCE}/${IMAGE}:1`;
    await fleet.manifests.applyObject(
      JSON.parse(pods.replace('images.test/workload:1', image)) as object,
    );
    await world.until('the pod is ready', () => world.record.pods.some(({ ready }) => ready));
    expect(machine.launcher.boots()).toBe(boots);
  },
  STORY_MS,
);

test(
  'a registry that is blocked is not asked any more',
  async () => {
    const boots = world.machine.launcher.boots();
    expect(await pull(`${REGISTRY}/${IMAGE}:2`)).toMatchObject({ status: 0, err: '' });
    const registrySources = { insecureRegistries: [REGISTRY], blockedRegistries: [REGISTRY] };
    const config = await world.roll(object('Image', 'cluster', { registrySources }));
    await world.allUpdatedTo(config);

    expect((await pull(`${REGISTRY}/${IMAGE}:1`)).status).not.toBe(0);
    expect(world.machine.launcher.boots()).toBe(boots);
  },
  STORY_MS,
);
