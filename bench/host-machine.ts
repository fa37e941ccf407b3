/**
 * Updates of one real machine with a kubelet and pods: `host-machine.js UPDATES`, in the namespace
 * of tools/setup/in-namespace.sh. Prints one JSON object.
 */

import { messageOf } from '../core/errors';
import { hostConfig, plainFile } from '../test/hosts/support/configs';
import { blobsOf, publishStoryImage } from '../test/hosts/support/story-images';
import { createLifetime } from '../test/hosts/lifetime';
import { startWorld, type World } from '../test/hosts/support/world';
import { percentile } from '../tools/measure/percentile';
import { type MeasuredUpdate, measureUpdate, type Stretch } from './host-update';
import { type BusyUsage, type IdleUsage, usageAtRest, watchUsage } from './host-worker-usage';
import { hostNetworkPods } from '../test/hosts/support/pods';

interface Spread {
  readonly what: string;
  readonly medianMs: number;
  readonly worstMs: number;
}

export interface HostMachineResult {
  readonly updates: number;
  /** Every update changes all of them, one kernel argument and the image. */
  readonly filesChanged: number;
  readonly podsEvicted: number;
  readonly phases: readonly Spread[];
  readonly reboot: readonly Spread[];
  readonly whole: readonly Spread[];
  /**
   * Cordon → uncordon, in percent of the time from the order until the node is back in service.
   */
  readonly disturbedPercent: number;
  readonly pull: PulledBytes;
  /** Measured before the first update. */
  readonly workerIdle: IdleUsage;
  readonly workerIdleAfterwards: IdleUsage;
  /** The update that used the most. */
  readonly workerBusy: BusyUsage;
}

/** The image differs from the previous one by one layer. */
interface PulledBytes {
  readonly imageBytes: number;
  readonly imageLayers: number;
  readonly changedLayerBytes: number;
  /** The layer and the config; manifests are not blobs. */
  readonly pulledBytes: number;
  readonly pulledBlobs: number;
}

const FILES = 100;
const BYTES_PER_FILE = 4096;
const LAYER_BYTES = 1024 * 1024;
const PODS = 2;
const IDLE_SECONDS = 30;

async function main(): Promise<void> {
  const updates = Number(process.argv[2] ?? 3);
  const step = (text: string) => process.stderr.write(`bench: ${text}\n`);
  const lifetime = createLifetime();
  try {
    const world = await startWorld(lifetime, {
      hosts: 1,
      policy: { verify: { readySeconds: 0 } },
      settings: { logLevel: 'info' },
      onStep: step,
    });
    await world.fleet.manifests.applyObject(hostNetworkPods('bench', PODS));
    process.stdout.write(`${JSON.stringify(await measure(world, updates, step))}\n`);
  } finally {
    await lifetime.end();
  }
}

async function measure(
  world: World,
  updates: number,
  step: (text: string) => void,
): Promise<HostMachineResult> {
  const { record } = world;
  step(`${IDLE_SECONDS} s of rest`);
  const workerIdle = await usageAtRest(IDLE_SECONDS);
  const measured: MeasuredUpdate[] = [];
  const busy: BusyUsage[] = [];
  let pull: PulledBytes | undefined;
  const evictions = record.evictions;
  for (let number = 1; number <= updates; number += 1) {
    await world.until('the pods are ready', () => readyPods(world) === PODS);
    step(`update ${number} of ${updates}`);
    const one = await updateOnce(world, number);
    measured.push(one.update);
    busy.push(one.busy);
    pull = one.pull;
  }
  if (pull === undefined) throw new Error('no update ran: nothing to measure');
  step(`${IDLE_SECONDS} s of rest`);
  const whole: readonly Spread[] = [
    spread(
      'order → Ready',
      measured.map(({ orderToReadyMs }) => orderToReadyMs),
    ),
    spread(
      'order → in service',
      measured.map(({ orderToInServiceMs }) => orderToInServiceMs),
    ),
    spread(
      'disturbed: cordon → uncordon',
      measured.map(({ disturbedMs }) => disturbedMs),
    ),
  ];
  const [, inService, disturbed] = whole;
  return {
    updates,
    filesChanged: FILES,
    podsEvicted: record.evictions - evictions,
    phases: spreads(measured.map(({ phases }) => phases)),
    reboot: spreads(measured.map(({ reboot }) => reboot)),
    whole,
    disturbedPercent: Math.round(
      ((disturbed?.medianMs ?? 0) * 100) / (inService?.medianMs ?? Infinity),
    ),
    pull,
    workerIdle,
    workerIdleAfterwards: await usageAtRest(IDLE_SECONDS),
    workerBusy: busy.reduce((most, one) => (one.cpuMs > most.cpuMs ? one : most)),
  };
}

/** Another image, other contents of every file, one kernel argument more or less. */
async function updateOnce(world: World, number: number) {
  const { registry } = world.fleet;
  const image = await publishStoryImage({
    ...{ registry, tag: `bench-${number}`, from: 'v1', layers: 1, bytes: LAYER_BYTES },
  });
  const content = `update ${number} `.repeat(BYTES_PER_FILE).slice(0, BYTES_PER_FILE);
  const config = hostConfig('50-bench', {
    osImageURL: image.reference,
    kernelArguments: number % 2 === 1 ? ['nosmt'] : [],
    files: Array.from({ length: FILES }, (_, index) =>
      plainFile(`/etc/bench/file-${index}`, content),
    ),
  });
  const watched = watchUsage();
  const {
    result: update,
    blobs,
    bytes,
  } = await registry.during(() => measureUpdate(world, config));
  const busy = watched.stop();
  const { sizes } = await blobsOf(registry, image.reference);
  const pull: PulledBytes = {
    imageBytes: [...sizes.values()].reduce((sum, size) => sum + size, 0),
    imageLayers: sizes.size,
    changedLayerBytes: image.added.reduce((sum, digest) => sum + (sizes.get(digest) ?? 0), 0),
    pulledBytes: bytes,
    pulledBlobs: blobs.length,
  };
  return { update, busy, pull };
}

function readyPods({ record }: World): number {
  return record.pods.filter(({ ready, terminating }) => ready && !terminating).length;
}

/** The n-th stretches of all updates belong together. */
function spreads(all: readonly (readonly Stretch[])[]): readonly Spread[] {
  const [first = []] = all;
  return first.map(({ what }, index) =>
    spread(
      what,
      all.map((one) => one[index]?.ms ?? 0),
    ),
  );
}

function spread(what: string, ms: readonly number[]): Spread {
  return {
    what,
    medianMs: Math.round(percentile(ms, 0.5)),
    worstMs: Math.round(Math.max(...ms)),
  };
}

main().then(
  () => process.exit(),
  (error: unknown) => {
    process.stderr.write(`bench: ${messageOf(error)}\n`);
    process.exit(1);
  },
);
