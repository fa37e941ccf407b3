import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markOf, rebootsOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { restartOnChange } from './support/disruption';
import { POOL } from './support/fleet';
import { wrongAtRest } from './support/on-disk';
import { rootOf } from './support/picture';
import { CURRENT_CONFIG, REASON, startWorld, STATE, STORY_MS, type World } from './support/world';

const PATH = '/etc/story.conf';
/** Without a disruption policy, a change costs a reboot. */
const DEAR = '/etc/dear.conf';
const READER = 'story.service';
const FORCE_FILE = '/run/machine-config-daemon-force';
const RIGHT = 'of the story\n';
const REPAIRS = 2;

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
  await restartOnChange(world.fleet.manifests, PATH, READER);
  const config = await world.roll(
    hostConfig('50-story', {
      files: [plainFile(PATH, RIGHT), plainFile(DEAR, RIGHT)],
      units: [service(READER, '/usr/bin/sleep infinity')],
    }),
  );
  await world.allUpdatedTo(config);
  await world.atRest(world.machine.name);
});

const write = (path: string, text: string) =>
  world.machine.output('sh', '-c', `printf %s '${text}' >${path}`);
const textOf = (path: string) => readFileSync(join(rootOf(world.machine), path), 'utf8');
const drifted = () => world.record.machineConfigNode(world.machine.name)?.conditions['Drifted'];
const readerPid = () => world.machine.output('systemctl', 'show', '--property=MainPID', READER);

/** Waits for the drift to be observed; a repair may be faster than a later check. */
async function spoil(path: string): Promise<void> {
  await Promise.all([
    world.untilCondition(world.machine.name, 'Drifted', 'True'),
    write(path, 'tampered\n'),
  ]);
}

test(
  'drift is reported by path within the watch, and is over when the file is as it was',
  async () => {
    const { machine } = world;

    await spoil(PATH);
    expect(drifted()?.message).toContain(PATH);
    expect(drifted()?.message).not.toContain('tampered');

    await write(PATH, RIGHT);
    await world.untilCondition(machine.name, 'Drifted', 'False');
    expect(textOf(PATH)).toBe(RIGHT);
  },
  STORY_MS,
);

test(
  'with Repair, what needs no reboot is rewritten, so often and no more; the rest is reported',
  async () => {
    const { machine, api } = world;
    const mark = markOf(world.record);
    await api.call('PATCH', `/apis/slipway.dev/v1alpha1/rolloutpolicies/${POOL}`, {
      spec: { drift: 'Repair', repair: { limit: REPAIRS, intervalSeconds: 3600 } },
    });

    for (let time = 1; time <= REPAIRS; time += 1) {
      const before = await readerPid();
      await spoil(PATH);
      await world.untilCondition(machine.name, 'Drifted', 'False');
      expect(textOf(PATH)).toBe(RIGHT);
      expect(await readerPid()).not.toBe(before);
    }

    await spoil(DEAR);
    await world.until('it says why it does not repair the dear one', () =>
      /dear\.conf takes effect at a reboot only/.test(drifted()?.message ?? ''),
    );
    await write(DEAR, RIGHT);
    await world.untilCondition(machine.name, 'Drifted', 'False');

    await spoil(PATH);
    await world.until('it says that it does not repair any more', () =>
      /story\.conf drifts again and again/.test(drifted()?.message ?? ''),
    );
    expect(textOf(PATH)).toBe('tampered\n');
    expect(rebootsOf(world.record, machine.name, mark)).toEqual([]);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
  },
  STORY_MS,
);

test(
  'an update is refused while the disk differs; with the force file it writes everything again',
  async () => {
    const { machine } = world;
    const old = world.target();
    const mark = markOf(world.record);
    const config = await world.roll(
      hostConfig('60-next', { files: [plainFile('/etc/next.conf', 'next\n')] }),
    );
    await world.until('the update is refused', () => {
      const { annotations } = world.node(machine.name);
      return (annotations[REASON] ?? '').startsWith('ConfigDrift');
    });
    expect(world.node(machine.name).annotations[STATE]).toBe('Degraded');
    expect(world.node(machine.name).annotations[CURRENT_CONFIG]).toBe(old);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    await world.atRest(machine.name);

    await machine.output('touch', FORCE_FILE);
    expect(await world.retry(machine.name)).toMatchObject({ code: 0 });

    await world.allUpdatedTo(config);
    expect(rebootsOf(world.record, machine.name, mark)).toEqual([config]);
    expect(await wrongAtRest(world, config)).toEqual([]);
    expect(existsSync(join(rootOf(machine), FORCE_FILE))).toBe(false);
    await world.untilCondition(machine.name, 'Drifted', 'False');
  },
  STORY_MS,
);
