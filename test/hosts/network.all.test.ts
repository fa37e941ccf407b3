/** A host is cut off from one peer, or from all, at each moment of an update. */

import type { RolloutPolicySpec } from '../../core/pool/types';
import { changesOf, markOf, wasEverCordoned } from '../e2e/support/judgements';
import { aroundAll } from './support/around-all';
import { hostConfig, plainFile, service } from './support/configs';
import { restartOnChange } from './support/disruption';
import { POOL } from './support/fleet';
import { untilMissed } from './support/missed';
import { expectToGoOnThrough, type Cut, type Moment } from './stories/network-cut';
import { type Peer, portOf } from './support/peers';
import { returnToFirst, wrongAtRest } from './support/on-disk';
import { type Picture, pictureOf } from './support/picture';
import {
  CURRENT_CONFIG,
  DESIRED_CONFIG,
  startWorld,
  STATE,
  STORY_MS,
  type World,
} from './support/world';

const NAME = '50-story';
/** Contains `up` or `down`. */
const LINK = '/etc/link.conf';
/** A path unit watches it. */
const WATCHED_LINK = '/etc/watched-link.conf';
/** Its service takes the link down only after the journal says that the host was verified. */
const LATE_LINK = '/etc/late-link.conf';
const DOWN_ONCE_VERIFIED = [
  'b=/usr/bin/busybox',
  '$b ip link set host0 up',
  `[ $($b cat ${LATE_LINK}) = down ] || exec $b sleep 1000000`,
  'until $b grep -qs verified /var/lib/slipway/journal/*/log; do $b sleep 0.1; done',
  // The host's answer leaves the machine first.
  '$b sleep 1',
  '$b ip link set host0 down',
  'exec $b sleep 1000000',
]
  .join('; ')
  // Escapes for systemd.
  .replaceAll('$', '$$$$');
/** Temporal needs less to notice a missing host. */
const RECONNECT_SECONDS = 60;
/** Longer than a boot takes on a busy machine. */
const SHORT_RECONNECT_SECONDS = 30;
const BACK_IN_PLACE = new RegExp(
  `Temporal was out of reach for ${SHORT_RECONNECT_SECONDS} s after the update was written`,
);

let world: World;

aroundAll(async (lifetime) => {
  world = await startWorld(lifetime, {
    hosts: 1,
    policy: { verify: { readySeconds: 1, reconnectSeconds: RECONNECT_SECONDS } },
  });
});

afterEach(async () => {
  await world.machine.network.heal();
  expect(await returnToFirst(world, NAME)).toEqual([]);
}, STORY_MS);

const FILES = Array.from({ length: 20 }, (_, index) =>
  plainFile(`/etc/story/${index}.conf`, `${index} of the story\n`),
);

function everything() {
  return hostConfig(NAME, {
    osImageURL: world.fleet.images.v2,
    kernelArguments: ['nosmt'],
    files: FILES,
  });
}

const logged =
  (...texts: readonly string[]): Moment =>
  () =>
    world.machine.untilLogged(...texts);
const rebooted: Moment = (_config, boots) => world.machine.launcher.untilBoots(boots + 1);
const updated: Moment = (config) => world.allUpdatedTo(config);
const missed: Moment = () => untilMissed(world.fleet, world.machine.name);

const pulls = logged('"activity":"prepareUpdate"', 'Activity started');
// The log of this boot may have other updates.
const prepared: Moment = (config) =>
  world.machine.untilLogged(`"config":"${config}"`, 'update prepared');
const applied: Moment = (config) =>
  world.machine.untilLogged(`"config":"${config}"`, 'config applied');
const arms = logged('"activity":"armReboot"', 'Activity started');

const CUTS: readonly (readonly [string, Cut])[] = [
  ['registry before it pulls', { peer: 'registry', at: 'at first', until: logged('PullFailed') }],
  ['gateway before it pulls', { peer: 'gateway', at: pulls, until: missed }],
  ['API server before it pulls', { peer: 'API server', at: pulls, until: applied }],
  ['registry before it applies', { peer: 'registry', at: prepared, until: updated }],
  ['gateway before it applies', { peer: 'gateway', at: prepared, until: missed }],
  ['API server before it applies', { peer: 'API server', at: prepared, until: rebooted }],
  ['registry while it applies', { peer: 'registry', at: 'held', until: updated }],
  ['server while it applies', { peer: 'server', at: 'held', until: updated }],
  ['gateway while it applies', { peer: 'gateway', at: 'held', until: missed }],
  ['API server while it applies', { peer: 'API server', at: 'held', until: rebooted }],
  ['registry before the reboot', { peer: 'registry', at: applied, until: updated }],
  ['server before the reboot', { peer: 'server', at: applied, until: updated }],
  ['gateway before the reboot', { peer: 'gateway', at: arms, until: rebooted }],
  ['API server before the reboot', { peer: 'API server', at: applied, until: rebooted }],
  ['registry after the reboot', { peer: 'registry', at: rebooted, until: updated }],
  ['server after the reboot', { peer: 'server', at: rebooted, until: updated }],
];

test.each(CUTS)(
  'cut off from the %s: it goes on by itself, with one reboot',
  (_what, cut) => expectToGoOnThrough(world, everything(), cut),
  STORY_MS,
);

test(
  'a server out of reach when the config is asked for: nothing is disturbed, and it goes on',
  async () => {
    const { machine } = world;
    await world.atRest(machine.name);
    const before = await pictureOf(machine);
    const mark = markOf(world.record);
    await machine.network.cut(portOf(world.fleet, 'server'));

    const config = await world.roll(everything());
    await machine.untilLogged('order not carried out', config);
    expect(await pictureOf(machine)).toEqual(before);
    expect(wasEverCordoned(world.record, machine.name, mark)).toBe(false);
    await machine.network.heal();

    await world.allUpdatedTo(config);
    expect(await wrongAtRest(world, config)).toEqual([]);
  },
  STORY_MS,
);

describe('a machine that goes back by itself', () => {
  beforeAll(() => setVerify({ reconnectSeconds: SHORT_RECONNECT_SECONDS }));

  test.each<[Peer]>([['gateway'], ['API server']])(
    'out of reach of the %s after the reboot: the machine goes back, and says why',
    async (peer) => {
      const { machine, fleet } = world;
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      const boots = machine.launcher.boots();
      await world.roll(everything());
      await machine.launcher.untilBoots(boots + 1);

      await machine.network.cut(portOf(world.fleet, peer));
      await machine.launcher.untilBoots(boots + 2);
      await machine.network.heal();

      const reason = await world.failedAndBack(machine.name, fleet.firstConfig);
      expect(reason).toMatch(peer === 'gateway' ? /Temporal was out of reach/ : /Ready/);
      await expectAsBefore(before);
    },
    STORY_MS,
  );

  test(
    'an update that cuts the machine off from everybody is taken back by the machine alone',
    async () => {
      const { machine, fleet } = world;
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      const mark = markOf(world.record);

      await world.roll(
        hostConfig(NAME, {
          kernelArguments: ['nosmt'],
          units: [oneshot('cut-off.service', '/usr/bin/busybox ip link set host0 down')],
        }),
      );
      const reason = await world.failedAndBack(machine.name, fleet.firstConfig);

      expect(reason).toMatch(/Temporal was out of reach/);
      await expectAsBefore(before);
      expect(world.node(machine.name).annotations[STATE]).toBe('Degraded');
      expect(world.node(machine.name).annotations[CURRENT_CONFIG]).toBe(fleet.firstConfig);
      expect(wasEverCordoned(world.record, machine.name, mark)).toBe(true);
    },
    STORY_MS,
  );

  test(
    'an update without a reboot that cuts the machine off is taken back by the machine alone, in place',
    async () => {
      const { machine, fleet } = world;
      await restartOnChange(fleet.manifests, LINK, 'link.service');
      const linked = (state: string) =>
        hostConfig(NAME, {
          files: [plainFile(LINK, state)],
          units: [
            oneshot(
              'link.service',
              `/bin/sh -c '/usr/bin/busybox ip link set host0 $(cat ${LINK})'`,
            ),
          ],
        });
      const good = await world.roll(linked('up'));
      await world.allUpdatedTo(good);
      expect(await wrongAtRest(world, good)).toEqual([]);
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      const boots = machine.launcher.boots();

      await world.roll(linked('down'));
      const reason = await world.failedAndBack(machine.name, good);

      expect(reason).toMatch(BACK_IN_PLACE);
      await expectAsBefore(before);
      expect(machine.launcher.boots()).toBe(boots);
      expect(world.node(machine.name).annotations[CURRENT_CONFIG]).toBe(good);
    },
    STORY_MS,
  );

  test(
    'an update with a reboot that cuts the machine off before that is ordered is taken back by the machine alone, in place',
    async () => {
      const { machine } = world;
      const watched = (state: string, kernelArguments: readonly string[]) =>
        hostConfig(NAME, {
          kernelArguments,
          files: [plainFile(WATCHED_LINK, state)],
          units: [
            oneshot(
              'watched-link.service',
              `/bin/sh -c '/usr/bin/busybox ip link set host0 $(cat ${WATCHED_LINK})'`,
            ),
            watcher('watched-link.path', WATCHED_LINK),
          ],
        });
      const good = await world.roll(watched('up', []));
      await world.allUpdatedTo(good);
      expect(await wrongAtRest(world, good)).toEqual([]);
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      const mark = markOf(world.record);
      const boots = machine.launcher.boots();

      await world.roll(watched('down', ['nosmt']));
      const reason = await world.failedAndBack(machine.name, good);

      expect(reason).toMatch(BACK_IN_PLACE);
      await expectAsBefore(before);
      expect(machine.launcher.boots()).toBe(boots);
      expect(world.node(machine.name).annotations[CURRENT_CONFIG]).toBe(good);
      expect(wasEverCordoned(world.record, machine.name, mark)).toBe(true);
    },
    STORY_MS,
  );

  test(
    'an update that cuts the machine off once its host was verified is taken back by the machine alone',
    async () => {
      const { machine, fleet } = world;
      await restartOnChange(fleet.manifests, LATE_LINK, 'late-link.service');
      const late = (state: string, kernelArguments: readonly string[]) =>
        hostConfig(NAME, {
          kernelArguments,
          files: [plainFile(LATE_LINK, state)],
          units: [service('late-link.service', `/bin/sh -c '${DOWN_ONCE_VERIFIED}'`)],
        });
      const good = await world.roll(late('up', []));
      await world.allUpdatedTo(good);
      expect(await wrongAtRest(world, good)).toEqual([]);
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      // The cut comes before the commit, and the kubelet's Ready status lasts longer.
      await setVerify({ readySeconds: 10 });

      // Forward, back, and once more: early services had read files in the old deployment.
      for (const [kernelArguments, boots] of [
        [[], 0],
        [['nosmt'], 3],
      ] as const) {
        const mark = markOf(world.record);
        const bootsBefore = machine.launcher.boots();
        const bad = await world.roll(late('down', kernelArguments));
        // The failure shows, on the old config.
        await world.until(`${machine.name} goes to ${bad}`, () => {
          return world.node(machine.name).annotations[DESIRED_CONFIG] === bad;
        });
        const reason = await world.failedAndBack(machine.name, good);

        expect(reason).toMatch(/Temporal was out of reach/);
        await expectAsBefore(before);
        expect(machine.launcher.boots()).toBe(bootsBefore + boots);
        const named = changesOf(world.record, machine.name, mark).map(
          ({ node }) => node.annotations[CURRENT_CONFIG],
        );
        expect(named).toContain(good);
        expect(named).not.toContain(bad);
      }
      await setVerify({ readySeconds: 1 });
    },
    2 * STORY_MS,
  );

  test(
    'an image in which no host worker starts: a shell takes the machine back',
    async () => {
      const { machine, fleet } = world;
      await world.atRest(machine.name);
      const before = await pictureOf(machine);
      const boots = machine.launcher.boots();

      await world.roll(
        hostConfig(NAME, {
          osImageURL: fleet.images['no-worker'],
          files: [plainFile('/etc/story.conf', 'of the story\n')],
        }),
      );
      await machine.launcher.untilBoots(boots + 1);
      await machine.launcher.untilBoots(boots + 2);
      const reason = await world.failedAndBack(machine.name, fleet.firstConfig);

      expect(reason).toMatch(/no host worker reached Temporal/);
      await expectAsBefore(before);
      expect(await machine.output('ls', '/var/lib/slipway')).not.toMatch(/unconfirmed|unstarted/);
    },
    STORY_MS,
  );
});

async function setVerify(verify: NonNullable<RolloutPolicySpec['verify']>): Promise<void> {
  const policy = `/apis/slipway.dev/v1alpha1/rolloutpolicies/${POOL}`;
  await world.api.call('PATCH', policy, { spec: { verify } });
}

async function expectAsBefore(before: Picture): Promise<void> {
  const { machine } = world;
  await world.atRest(machine.name);
  // A staged deployment replaces the earlier rollback deployment.
  expect(booted(await pictureOf(machine))).toEqual(booted(before));
}

function booted(picture: Picture) {
  return { ...picture, deployments: picture.deployments[0] };
}

/** Once in each boot, as soon as the network is up. */
function oneshot(name: string, command: string) {
  return {
    name,
    enabled: true,
    contents: `[Unit]\nDescription=${name}\n\n[Service]\nType=oneshot\nExecStart=${command}\n\n[Install]\nWantedBy=multi-user.target\n`,
  };
}

/** At every change of the file. */
function watcher(name: string, path: string) {
  return {
    name,
    enabled: true,
    contents: `[Unit]\nDescription=${name}\n\n[Path]\nPathChanged=${path}\n\n[Install]\nWantedBy=multi-user.target\n`,
  };
}
