/** Two releases of an operating system, one after the other and back, on a machine that boots them. */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pushPayload } from '../../tools/registry';
import { markOf, rebootsOf } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { POOL } from './support/fleet';
import { wrongAtRest } from './support/on-disk';
import { startWorld, STORY_MS, type World } from './support/world';

let world: World;
/** Payload images, by tag. */
const releases: Record<'v1' | 'v2', string> = { v1: '', v2: '' };

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  const { registry, images } = world.fleet;
  const repository = `${registry.address}/okd/release`;
  for (const version of ['v1', 'v2'] as const) {
    const payload = { 'machine-config-operator': images.v1, 'stream-coreos': images[version] };
    const tag = `4.${version}`;
    await pushPayload({ repository, tag, version: tag, images: payload });
    releases[version] = `${repository}:${tag}`;
  }
  // The registry of the stories has no certificate.
  const conf = join(registry.directory, 'registries.conf');
  await writeFile(conf, `[[registry]]\nlocation = "${registry.address}"\ninsecure = true\n`);
  process.env['CONTAINERS_REGISTRIES_CONF'] = conf;
});

afterAll(() => {
  delete process.env['CONTAINERS_REGISTRIES_CONF'];
});

/** @returns the config that the pool then wants */
async function set(...args: readonly string[]): Promise<string> {
  const before = world.target();
  const { code, err } = await world.slipway('os', 'set', ...args);
  expect({ code, err }).toEqual({ code: 0, err: expect.any(String) as unknown });
  await world.until(`pool ${POOL} has another config`, () => world.target() !== before);
  return world.target();
}

async function expectBooted(version: 'v1' | 'v2', config: string, mark: number): Promise<void> {
  const { machine } = world;
  await world.allUpdatedTo(config);
  expect(await machine.output('cat', '/usr/lib/os-version')).toBe(`${version}\n`);
  expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
  expect(world.record.violations).toEqual([]);
  expect(await wrongAtRest(world, config)).toEqual([]);
}

async function status(): Promise<unknown> {
  const { code, out } = await world.slipway('os', 'status', '-o', 'json');
  expect(code).toBe(0);
  return JSON.parse(out);
}

test(
  'a release brings its OS image to the machines, and the one before it brings the old one back',
  async () => {
    const { images } = world.fleet;
    const first = markOf(world.record);
    const there = await set('--release', releases.v2);
    await expectBooted('v2', there, first);
    expect(await status()).toMatchObject({
      cluster: { version: '4.v2', osImage: images.v2 },
      pools: expect.arrayContaining([
        {
          ...{ pool: POOL, nodes: 1 },
          images: [{ image: images.v2, wantedBy: 'ControllerConfig', staged: 0, booted: 1 }],
        },
      ]) as unknown,
    });

    const second = markOf(world.record);
    const back = await set('--release', releases.v1);
    expect(back).toBe(world.fleet.firstConfig);
    await expectBooted('v1', back, second);
    expect(await status()).toMatchObject({ cluster: { version: '4.v1', osImage: images.v1 } });
  },
  STORY_MS,
);

test(
  'an image of one pool wins over the release, and goes with its MachineConfig',
  async () => {
    const { images } = world.fleet;
    const first = markOf(world.record);
    const there = await set(images.v2, '--pool', POOL);
    await expectBooted('v2', there, first);
    expect(await status()).toMatchObject({
      cluster: { version: '4.v1', osImage: images.v1 },
      pools: expect.arrayContaining([
        expect.objectContaining({
          images: [
            {
              ...{ image: images.v2, wantedBy: `MachineConfig 99-${POOL}-os` },
              ...{ staged: 0, booted: 1 },
            },
          ],
        }),
      ]) as unknown,
    });

    const second = markOf(world.record);
    await expectBooted('v1', await world.unroll(`99-${POOL}-os`), second);
  },
  STORY_MS,
);
