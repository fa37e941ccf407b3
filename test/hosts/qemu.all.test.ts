/**
 * A boot loader passes the config's arguments to a kernel, and a deployment that does not boot
 * falls back to the previous one.
 */

import { join } from 'node:path';
import { hasArgument, missingArguments, splitKernelArguments } from '../../core/os';
import { type Computer, startComputer } from './qemu/computer';
import { INSTALLED_ARGUMENTS } from './qemu/disk';
import {
  GONE,
  GOOD,
  LEFT_FILES,
  QUOTED,
  storyDisk,
  UNBOOTABLE,
  UNBOOTABLE_FILE,
} from './qemu/first-config';
import { aroundAll } from './support/around-all';

/** Two minutes on idle cores. */
const STORY_MS = 1_800_000;

let computer: Computer;

aroundAll(async (lifetime) => {
  const directory = join(process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '', 'qemu');
  const disk = await storyDisk();
  computer = await lifetime.own(
    () => startComputer({ directory, disk }),
    (started) => started.powerOff(),
  );
});

/** As the boot loader chose them, one per boot. */
function entries(): readonly string[] {
  return computer.console.all().flatMap((line) => /boot loader: entry (\d)/.exec(line)?.[1] ?? []);
}

async function commandLine(): Promise<readonly string[]> {
  return splitKernelArguments([await computer.output('cat /proc/cmdline')]);
}

interface Deployment {
  readonly id: string;
  readonly kernelArguments: readonly string[];
}

interface Status {
  readonly booted: Deployment;
  readonly deployments: readonly Deployment[];
}

async function status(): Promise<Status> {
  return JSON.parse(await computer.output('slipway-ostree status 2>/dev/null')) as Status;
}

test(
  'the kernel arguments of a config reach the kernel and old ones go, with one reboot through the boot loader',
  async () => {
    await computer.untilUp(1);

    expect(entries()).toEqual(['0', '0']);
    const words = await commandLine();
    expect(words).toEqual(
      expect.arrayContaining([...INSTALLED_ARGUMENTS, 'slipway.story=arrived']),
    );
    // The kernel spells the arguments differently, except one.
    expect(missingArguments(GOOD.kernelArguments, words)).toEqual([]);
    expect(QUOTED.filter((argument) => words.includes(argument))).toEqual(QUOTED.slice(2, 3));
    expect(GONE.filter((argument) => hasArgument(words, argument))).toEqual([]);
    // Only the boot loader knows where it found the kernel.
    expect(words[0]).toMatch(/^BOOT_IMAGE=.*\/vmlinuz-/);
    const record: unknown = JSON.parse(
      await computer.output('cat /var/lib/slipway/first-boot.json'),
    );
    expect(record).toMatchObject({ state: 'complete', reboots: 1 });
    const current = await computer.output('cat /etc/machine-config-daemon/currentconfig');
    expect(JSON.parse(current)).toMatchObject({ metadata: { name: GOOD.name } });
  },
  STORY_MS,
);

test(
  'a deployment that does not boot: the boot loader falls back, and the machine stays there',
  async () => {
    const before = await status();
    const from = computer.console.all().length;

    // The service would retry.
    await computer.output('systemctl mask slipway-host-first-boot 2>/dev/null');
    await computer.output('rm /etc/machine-config-daemon/currentconfig');
    for (const path of LEFT_FILES) await computer.output(`cp ${UNBOOTABLE_FILE} ${path}`);
    computer.type('slipway host-first-boot >/dev/console');
    await computer.console.until('Kernel panic', from);
    await computer.untilUp(2);

    expect(entries().slice(2)).toEqual(['0', '1']);
    const settled = await computer.console.until('unfinished update settled', from);
    expect(settled).toContain(`rolled back the update to ${UNBOOTABLE.name}: the machine booted`);
    const after = await status();
    expect(after.booted).toEqual(before.booted);
    const words = await commandLine();
    expect(missingArguments(GOOD.kernelArguments, words)).toEqual([]);
    // The other entry is the deployment that does not boot.
    const [first, second] = after.deployments.map(({ kernelArguments }) => kernelArguments);
    expect(first).toEqual(before.booted.kernelArguments);
    expect(missingArguments(UNBOOTABLE.kernelArguments, second ?? [])).toEqual([]);
  },
  STORY_MS,
);
