/** Every failure of an update on a real machine, which must be in its old state afterwards. */

import { markOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { returnToFirst, wrongAtRest } from './support/on-disk';
import { pictureOf } from './support/picture';
import { expectWayBack } from './stories/way-back';
import { startWorld, STORY_MS, type World } from './support/world';

const NAME = '50-story';
/** Only in the second version of the image. */
const GUARD = 'guard.service';

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, { hosts: 1, policy: { verify: { readySeconds: 1 } } });
});

// Each story begins on the first config.
afterEach(async () => {
  expect(await returnToFirst(world, NAME)).toEqual([]);
}, STORY_MS);

test(
  'a unit of the new image that is enabled with it, and another one that fails: byte for byte back',
  async () => {
    const reason = await expectWayBack(world, NAME, {
      osImageURL: world.fleet.images.v2,
      units: [
        {
          name: GUARD,
          enabled: true,
          dropins: [{ name: '10-story.conf', contents: '[Service]\nNice=5\n' }],
        },
        service('story.service', '/usr/bin/false'),
      ],
    });

    expect(reason).toContain('story.service');
  },
  STORY_MS,
);

test(
  'an image that does not exist disturbs nothing, and the host says why it waits',
  async () => {
    const { machine, fleet } = world;
    const digest = `sha256:${'0'.repeat(64)}`;
    const mark = markOf(world.record);
    const boots = machine.launcher.boots();
    await world.atRest(machine.name);
    const before = await pictureOf(machine);

    await world.roll(
      hostConfig(NAME, {
        osImageURL: fleet.images.v2.replace(/sha256:.*$/, digest),
        files: [plainFile('/etc/story.conf', 'of the story\n')],
      }),
    );
    await machine.untilLogged('PullFailed', digest);

    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    expect(machine.launcher.boots()).toBe(boots);
  },
  STORY_MS,
);

test(
  'a registry that is away disturbs nothing; when it is back, the update goes on by itself',
  async () => {
    const { machine, fleet } = world;
    const mark = markOf(world.record);
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    await fleet.registry.kill();
    let config: string;
    try {
      config = await world.roll(
        hostConfig(NAME, {
          osImageURL: fleet.images.v2,
          files: [plainFile('/etc/story.conf', 'of the story\n')],
        }),
      );
      await machine.untilLogged('PullFailed', config);
      expect(await pictureOf(machine)).toEqual(before);
      expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    } finally {
      await fleet.registry.restart();
    }

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
  },
  STORY_MS,
);

test(
  'a unit that only the new image has is enabled with it, and goes with it without a trace',
  async () => {
    const { machine, fleet } = world;
    await world.atRest(machine.name);
    const before = await pictureOf(machine);

    const config = await world.roll(
      hostConfig(NAME, {
        osImageURL: fleet.images.v2,
        units: [{ name: GUARD, enabled: true }],
      }),
    );
    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
    expect(await machine.output('systemctl', 'is-active', GUARD)).toBe('active\n');
    expect(await machine.output('systemctl', 'is-enabled', GUARD)).toBe('enabled\n');
    // By its other name, too.
    expect(await machine.output('systemctl', 'is-active', 'watch.service')).toBe('active\n');
    const boots = machine.launcher.boots();

    await world.unroll(NAME);
    await world.allUpdatedTo(fleet.firstConfig);
    await world.atRest(machine.name);
    expect(machine.launcher.boots()).toBe(boots + 1);
    const after = await pictureOf(machine);
    // The update's image stays as the rollback deployment.
    const [booted] = after.deployments;
    expect({ ...after, deployments: [booted] }).toEqual({
      ...before,
      deployments: before.deployments.slice(0, 1),
    });
  },
  STORY_MS,
);

test(
  'a unit that fails: the machine goes back',
  async () => {
    const reason = await expectWayBack(world, NAME, {
      units: [service('story.service', '/usr/bin/false')],
    });

    expect(reason).toContain('story.service');
  },
  STORY_MS,
);

test(
  'a unit that crashes again and again: the machine goes back, with what it ended with',
  async () => {
    // Too slow for systemd's start limit, and up at most checks.
    const command = "/bin/sh -c 'sleep 2; exit 3'\nRestart=always\nRestartSec=1";
    const reason = await expectWayBack(world, NAME, { units: [service('story.service', command)] });

    expect(reason).toContain('story.service does not come up');
    expect(reason).toContain('exit status 3');
  },
  STORY_MS,
);

test(
  'a file that cannot be written: nothing is half done',
  async () => {
    const { machine } = world;
    await machine.output(
      'sh',
      '-c',
      'echo mine >/etc/immovable.conf && chattr +i /etc/immovable.conf',
    );
    try {
      const reason = await expectWayBack(world, NAME, {
        files: [
          plainFile('/etc/a-first.conf', 'first\n'),
          plainFile('/etc/immovable.conf', 'of the story\n'),
        ],
      });

      expect(reason).toContain('/etc/immovable.conf');
    } finally {
      await machine.output('sh', '-c', 'chattr -i /etc/immovable.conf && rm /etc/immovable.conf');
    }
  },
  STORY_MS,
);

test(
  'a deployment that ostree cannot put in place at the shutdown: no second try, and a retry once that is mended',
  async () => {
    const { machine, fleet } = world;
    // In memory only: ostree cannot write the new deployment's /etc.
    const dropIns = '/run/systemd/system/ostree-finalize-staged.service.d';
    const text = '[Service]\\nReadOnlyPaths=/sysroot/ostree/deploy\\n';
    const script = `mkdir -p ${dropIns} && printf '${text}' > ${dropIns}/10-story.conf`;
    await machine.output('sh', '-c', `${script} && systemctl daemon-reload`);
    const boots = machine.launcher.boots();
    const file = plainFile('/etc/story.conf', 'of the story\n');

    const reason = await expectWayBack(world, NAME, { osImageURL: fleet.images.v2, files: [file] });
    expect(reason).toMatch(
      /ostree could not put deployment .* in place .*: .*Read-only file system/,
    );
    // The ordered reboot, and one more because early services had read the update's files.
    expect(machine.launcher.boots()).toBe(boots + 2);

    expect(await world.retry(machine.name)).toMatchObject({ code: 0 });
    await world.allUpdatedTo(world.target());
    expect(await machine.output('cat', '/usr/lib/os-version')).toBe('v2\n');
    expect(machine.launcher.boots()).toBe(boots + 3);
  },
  STORY_MS,
);
