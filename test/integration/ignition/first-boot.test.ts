/**
 * The real Ignition engine and the host worker write the same tree for the same config: paths, contents, modes,
 * owners, links, units and presets.
 */

import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine } from '../../../tools/ignition/engine';
import { firstConfig, VERSIONS } from './first-configs';
import { renderedConfig, takeOver, update, writeWithHostWorker } from './host-transaction';
import { applyPresets, describeTree, type Distribution, makeMachineTree } from './machine-tree';
import { ODD_CONFIGS } from './odd-configs';
import { differences, PRESETS } from './trees';

// The engine may have to be built.
jest.setTimeout(15 * 60_000);

let work: string;
beforeEach(async () => {
  work = await mkdtemp(join(tmpdir(), 'slipway-first-boot-'));
  // The engine writes the keys of a user as that user.
  await chmod(work, 0o755);
});
afterEach(() => rm(work, { recursive: true }));

/** The tree after a first boot with Ignition and systemd. */
async function firstBoot(config: object, distribution: Distribution, furnish = makeMachineTree) {
  const root = join(work, 'ignition');
  await furnish(root, distribution);
  const engine = await createEngine({
    work: join(work, 'engine'),
    keysInDirectory: distribution === 'coreos',
  });
  await engine.fetch(config);
  await engine.writeFiles(root);
  await applyPresets(root);
  return describeTree(root);
}

/** The tree that the host worker writes on the same machine. */
async function hostWorker(config: object, distribution: Distribution, furnish = makeMachineTree) {
  const root = join(work, 'host');
  await furnish(root, distribution);
  await writeWithHostWorker(root, renderedConfig('rendered-first', config));
  return describeTree(root);
}

/** An example of each kind of path. */
const WRITTEN = [
  '/etc/of/many/levels/base64',
  '/etc/systemd/system/new.service',
  '/etc/systemd/system/dormant.service.d/10-more.conf',
  '/etc/systemd/system/hidden.service',
  '/etc/systemd/system/multi-user.target.wants/new.service',
  '/home/core/.ssh',
];

describe.each(['coreos', 'debian'] as const)('on a machine like %s', (distribution) => {
  it.each(VERSIONS)('a config of Ignition %s', async (version) => {
    const config = firstConfig(version);

    const ignition = await firstBoot(config, distribution);
    const ours = await hostWorker(config, distribution);

    expect(differences(ignition, ours)).toEqual([]);
    // The comparison is not empty: files, units, keys and the password of the config are there.
    expect([...ignition.keys()]).toEqual(expect.arrayContaining(WRITTEN));
  });
});

describe.each(['coreos', 'debian'] as const)('odd things, on a machine like %s', (distribution) => {
  it.each(Object.entries(ODD_CONFIGS))('a config with %s', async (_what, parts) => {
    const config = { ignition: { version: '3.5.0' }, ...parts };

    const ignition = await firstBoot(config, distribution);
    const ours = await hostWorker(config, distribution);

    expect(differences(ignition, ours)).toEqual([]);
    const rendered = renderedConfig('rendered-first', config);
    expect(await takeOver(join(work, 'ignition'), rendered)).toBeUndefined();
  });
});

it('locks a password with an empty hash as the host worker does', async () => {
  const users = [{ name: 'core', passwordHash: '' }];
  const config = { ignition: { version: '3.5.0' }, passwd: { users } };
  const withPassword = async (root: string, distribution: Distribution): Promise<void> => {
    await makeMachineTree(root, distribution);
    const shadow = join(root, 'etc/shadow');
    const text = await readFile(shadow, 'utf8');
    await writeFile(shadow, text.replace('core:*:', 'core:$6$salt$hash:'));
  };

  const ignition = await firstBoot(config, 'coreos', withPassword);
  const ours = await hostWorker(config, 'coreos', withPassword);

  expect(differences(ignition, ours)).toEqual([]);
  expect(ours.get('/etc/shadow')).toContain('core:*:');
});

it('tells systemd with presets what the host worker makes links of', async () => {
  const ignition = await firstBoot(firstConfig('3.5.0'), 'coreos');

  expect(ignition.get(PRESETS)).toBe(
    `file 644 0:0 ${JSON.stringify(
      ['aliased.service', 'dormant.service', 'every-hour.timer', 'new.service']
        .map((unit) => `enable ${unit}\n`)
        .concat('disable shipped.service\n')
        .join(''),
    )}`,
  );
});

describe('a machine that Ignition wrote', () => {
  const root = (): string => join(work, 'ignition');
  const first = firstConfig('3.5.0');

  it('is as its config says, in the eyes of the host worker', async () => {
    await firstBoot(first, 'coreos');

    expect(await takeOver(root(), renderedConfig('rendered-first', first))).toBeUndefined();
  });

  it('keeps empty drop-ins, which the host worker does without', async () => {
    const dropins = [{ name: '10-nothing.conf', contents: '' }];
    const config = {
      ignition: { version: '3.5.0' },
      systemd: { units: [{ name: 'shipped.service', dropins }] },
    };
    const path = '/etc/systemd/system/shipped.service.d/10-nothing.conf';

    const ignition = await firstBoot(config, 'coreos');
    const ours = await hostWorker(config, 'coreos');

    expect([ignition.has(path), ours.has(path)]).toEqual([true, false]);
    expect(await takeOver(root(), renderedConfig('rendered-first', config))).toBeUndefined();
  });

  it('loses with the first update what Ignition told systemd for ever', async () => {
    await firstBoot(first, 'coreos');
    await takeOver(root(), renderedConfig('rendered-first', first));
    const units = first.systemd.units.map((unit) =>
      unit.name === 'dormant.service' ? { name: unit.name } : unit,
    );

    await update(root(), renderedConfig('rendered-second', { ...first, systemd: { units } }));

    const tree = await describeTree(root());
    expect(tree.has(PRESETS)).toBe(false);
    // Neither the new config nor the distribution enables it.
    expect(tree.has('/etc/systemd/system/multi-user.target.wants/dormant.service')).toBe(false);
    expect(tree.has('/etc/systemd/system/multi-user.target.wants/new.service')).toBe(true);
  });

  it('is, after the next update, as a machine that the host worker wrote', async () => {
    const second = {
      ...first,
      storage: { files: first.storage.files.slice(1) },
      systemd: { units: first.systemd.units.slice(1) },
    };
    await firstBoot(first, 'coreos');
    await takeOver(root(), renderedConfig('rendered-first', first));
    await hostWorker(first, 'coreos');

    for (const machine of ['ignition', 'host']) {
      await update(join(work, machine), renderedConfig('rendered-second', second));
    }

    const [ignition, ours] = [await describeTree(root()), await describeTree(join(work, 'host'))];
    expect(differences(ignition, ours)).toEqual([]);
    expect(ours.has('/etc/plain')).toBe(false);
  });
});
