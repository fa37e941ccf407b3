/** A fault of one of several machines does not harm the others. */

import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { countBoots } from './support/boots';
import { hostConfig, plainFile } from './support/configs';
import { wrongOnDisks } from './support/on-disk';
import { type Picture, pictureOf } from './support/picture';
import { REASON, startWorld, STATE, STORY_MS, type World } from './support/world';

const NAME = '50-story';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    hosts: 3,
    maxUnavailable: 1,
    // The power of a machine is cut during its update.
    broken: ['I5'],
    policy: { canary: { nodes: 1 }, failureThreshold: 1, verify: { readySeconds: 1 } },
  });
});

afterEach(async () => {
  for (const machine of world.machines) await machine.launcher.powerOn();
  if (world.target() === world.fleet.firstConfig) return;
  await world.unroll(NAME);
  await world.allUpdatedTo(world.fleet.firstConfig);
}, STORY_MS);

const names = (): readonly string[] => world.machines.map(({ name }) => name);

/** Of one machine, and of each of the others. */
function boots(
  name: string,
  { its, others }: { readonly its: number; readonly others: number },
): Readonly<Record<string, number>> {
  return Object.fromEntries(names().map((other) => [other, other === name ? its : others]));
}

async function theFailedOne(): Promise<string> {
  const failed = (): readonly string[] =>
    names().filter((name) => world.node(name).annotations[STATE] === 'Degraded');
  await world.until('one machine failed', () => failed().length > 0);
  const [name = ''] = failed();
  await world.failedAndBack(name, world.fleet.firstConfig);
  return name;
}

/** The rollout knows of the failure and gives no more grants. */
async function untilHalted(): Promise<void> {
  const { code, out } = await world.slipway('rollout', 'status', 'worker', '--watch');
  expect({ code, out }).toMatchObject({ code: 4 });
}

async function allAtRest(): Promise<void> {
  for (const name of names()) await world.atRest(name);
}

/** By name, without the rollback deployment, which a staged one replaces. */
async function pictures(): Promise<Readonly<Record<string, Picture>>> {
  const all = await Promise.all(
    world.machines.map(async (machine): Promise<[string, Picture]> => {
      const picture = await pictureOf(machine);
      return [machine.name, { ...picture, deployments: picture.deployments.slice(0, 1) }];
    }),
  );
  return Object.fromEntries(all);
}

test(
  'an image that does not boot the kubelet stops at the canary',
  async () => {
    await allAtRest();
    const before = await pictures();
    const mark = markOf(world.record);
    const booted = countBoots(world.machines);
    await world.roll(hostConfig(NAME, { osImageURL: world.fleet.images['no-kubelet'] }));

    const canary = await theFailedOne();

    await world.atRest(canary);
    await untilHalted();
    // Into the new config and back.
    expect(booted()).toEqual(boots(canary, { its: 2, others: 0 }));

    const others = names().filter((name) => name !== canary);
    expect(others).toHaveLength(2);
    for (const name of others) {
      expect(wasEverCordoned(world.record, name, mark)).toBe(false);
      expect(rebootsOf(world.record, name, mark)).toEqual([]);
    }
    const { out } = await world.slipway('rollout', 'status', 'worker');
    expect(out).toContain(canary);
    expect(out).toMatch(/kubelet/i);
    expect(await pictures()).toEqual(before);
    expect(await wrongOnDisks(world, world.fleet.firstConfig)).toEqual([]);
  },
  STORY_MS,
);

/** An ordinary file with another owner on every machine. */
const THEIRS = '/etc/theirs.conf';
const ON_CONSOLE = {
  pin: `echo theirs >${THEIRS} && chattr +i ${THEIRS}`,
  unpin: `chattr -i ${THEIRS} && rm ${THEIRS}`,
} as const;

test(
  'a file that no machine can write: the canary is cordoned and heals itself, and the fixed config repairs the pool',
  async () => {
    for (const machine of world.machines) await machine.output('sh', '-c', ON_CONSOLE.pin);
    let mended: string;
    try {
      await allAtRest();
      const before = await pictures();
      const mark = markOf(world.record);
      const booted = countBoots(world.machines);
      const story = plainFile('/etc/story.conf', 'of the story\n');
      await world.roll(hostConfig(NAME, { files: [story, plainFile(THEIRS, 'ours\n')] }));

      const canary = await theFailedOne();

      await world.atRest(canary);
      await untilHalted();
      expect(booted()).toEqual(boots(canary, { its: 0, others: 0 }));
      expect(world.node(canary).annotations[REASON]).toContain(THEIRS);
      expect(await pictures()).toEqual(before);
      expect(names().filter((name) => wasEverCordoned(world.record, name, mark))).toEqual([canary]);

      // Without a retry: the new config alone starts the update.
      mended = await world.roll(hostConfig(NAME, { files: [story] }));

      await world.allUpdatedTo(mended);
      expect(booted()).toEqual(boots(canary, { its: 1, others: 1 }));
      for (const { name, output } of world.machines) {
        expect([name, rebootsOf(world.record, name, mark)]).toEqual([name, [mended]]);
        expect(await output('cat', story.path)).toBe('of the story\n');
      }
    } finally {
      for (const machine of world.machines) await machine.output('sh', '-c', ON_CONSOLE.unpin);
    }
    await allAtRest();
    expect(await wrongOnDisks(world, mended)).toEqual([]);
  },
  STORY_MS,
);

test(
  'a machine that dies in the middle and does not return is named, and comes home when it does',
  async () => {
    const booted = countBoots(world.machines);
    const config = await world.roll(hostConfig(NAME, { kernelArguments: ['nosmt'] }));
    const first = (): string | undefined => names().find((name) => world.node(name).unschedulable);
    await world.until('the first machine is cordoned', () => first() !== undefined);
    const machine = world.machines.find(({ name }) => name === first());
    if (machine === undefined) throw new Error('no machine is cordoned');
    await machine.launcher.cutPower();

    await world.until('the cluster sees it gone', () => !world.node(machine.name).ready);
    const { out } = await world.slipway('rollout', 'status', 'worker');
    expect(out).toContain(machine.name);
    for (const name of names()) {
      if (name !== machine.name) expect(world.node(name).unschedulable).toBe(false);
    }
    await machine.launcher.powerOn();

    await world.allUpdatedTo(config);
    // One by hand, and one for the update.
    expect(booted()).toEqual(boots(machine.name, { its: 2, others: 1 }));
    await allAtRest();
    expect(await wrongOnDisks(world, config)).toEqual([]);
  },
  STORY_MS,
);

/** After the config was applied, and before ostree merges /etc into the new deployment. */
function editAtShutdown(text: string, path: string): readonly string[] {
  const edit = `/bin/sh -c "echo ${text} >${path}"`;
  return ['systemd-run', '-p', 'RemainAfterExit=yes', '-p', `ExecStop=${edit}`, '/bin/true'];
}

test(
  'a person who edits a managed file during the update has the last word in a report, not in secret',
  async () => {
    const [machine] = world.machines;
    if (machine === undefined) throw new Error('there is no machine');
    const booted = countBoots(world.machines);
    const first = await world.roll(
      hostConfig(NAME, { files: [plainFile('/etc/story.conf', 'of the story\n')] }),
    );
    await world.allUpdatedTo(first);
    for (const { name } of world.machines) await world.atRest(name);
    expect(booted()).toEqual(boots(machine.name, { its: 1, others: 1 }));
    await machine.output(...editAtShutdown('mine', '/etc/story.conf'));

    const config = await world.roll(
      hostConfig(NAME, {
        kernelArguments: ['nosmt'],
        files: [plainFile('/etc/story.conf', 'of the story\n')],
      }),
    );

    await world.until('the edit is reported, with its path', () => {
      const { annotations } = world.node(machine.name);
      const reason = annotations[REASON] ?? '';
      return annotations[STATE] === 'Degraded' && reason.includes('/etc/story.conf');
    });
    await world.atRest(machine.name);
    expect(booted()).toEqual(boots(machine.name, { its: 3, others: 1 }));
    await machine.output('sh', '-c', "printf 'of the story\\n' >/etc/story.conf");
    expect(await world.retry(machine.name)).toMatchObject({ code: 0 });
    await world.allUpdatedTo(config);
    expect(booted()).toEqual(boots(machine.name, { its: 4, others: 2 }));
    await allAtRest();
    expect(await wrongOnDisks(world, config)).toEqual([]);
  },
  STORY_MS,
);
