/** Which images the kubelet does not delete: containerd has a label for it, CRI-O a setting. */

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../../../core/errors';
import { failed, type CommandOptions, type RunCommand } from '../os/command';
import { replaceFile } from '../replace-file';
import { CTR_IMAGES, starts } from './programs';

export interface Pins {
  /** Pins those of them that are there, and unpins what it had pinned before. @throws `OsCommandFailed` */
  set(images: readonly string[], options: CommandOptions): Promise<void>;
}

interface Place {
  /** The machine's root directory. */
  readonly root: string;
  readonly run: RunCommand;
}

export function createPins(place: Place): Pins {
  let known: Pins | undefined;
  return {
    set: async (images, options) => {
      known ??= await findPins(place);
      if (known !== undefined) return known.set(images, options);
      if (images.length === 0) return;
      throw fail(
        'OsCommandFailed',
        'the kubelet may delete them: the machine has neither CRI-O nor containerd with ctr; install ctr',
      );
    },
  };
}

async function findPins({ root, run }: Place): Promise<Pins | undefined> {
  const runtime = await runtimeName(run);
  if (runtime === 'cri-o') return crioPins(root, run);
  return runtime === 'containerd' && (await starts(run, 'ctr')) ? containerdPins(run) : undefined;
}

/**
 * As crictl says it; without crictl it is taken for containerd, which has a program of its own.
 *
 * @throws `OsCommandFailed` while the runtime does not answer
 */
async function runtimeName(run: RunCommand): Promise<string> {
  if (!(await starts(run, 'crictl'))) return 'containerd';
  const end = await run('crictl', ['version']);
  if (end.status !== 0) throw failed('crictl', ['version'], end);
  const names = end.lines.flatMap((line) => /^RuntimeName:\s*(\S+)/.exec(line)?.[1] ?? []);
  return names[0] ?? '';
}

/** @see containerd pkg/cri/labels */
const PINNED = 'io.cri-containerd.pinned';
/** Images that the runtime has pinned itself, such as that of sandboxes, do not have it. */
const OURS = 'slipway.dev/pinned';

function containerdPins(run: RunCommand): Pins {
  const ctr = async (
    words: readonly string[],
    options: CommandOptions,
  ): Promise<readonly string[]> => {
    const all = [...CTR_IMAGES, ...words];
    const end = await run('ctr', all, options);
    if (end.status !== 0) throw failed('ctr', all, end);
    return end.lines.map((line) => line.trim());
  };
  return {
    set: async (images, options) => {
      const list = (...filters: readonly string[]) => ctr(['list', '--quiet', ...filters], options);
      const ours = await list(`labels."${OURS}"==true`);
      const wanted = new Set(images);
      for (const image of ours.filter((name) => !wanted.has(name))) {
        await ctr(['label', image, `${PINNED}=`, `${OURS}=`], options);
      }
      if (images.length === 0) return;
      const there = await list();
      const pinned = new Set(await list(`labels."${PINNED}"==pinned`));
      for (const image of there.filter((name) => wanted.has(name) && !pinned.has(name))) {
        await ctr(['label', image, `${PINNED}=pinned`, `${OURS}=true`], options);
      }
    },
  };
}

/** MCO's place. */
const OF_CRIO = 'etc/crio/crio.conf.d/50-pinned-images';

/** @see MCO pkg/daemon/pinned_image_set.go */
function crioPins(root: string, run: RunCommand): Pins {
  const file = join(root, OF_CRIO);
  /** What CRI-O has read. */
  let loaded: string | undefined;
  return {
    set: async (images, options) => {
      const text = images.length === 0 ? '' : pinnedImagesConf(images);
      const stored = await textOf(file);
      if (text === stored && text === (loaded ?? '')) return;
      if (text === '') await rm(file, { force: true });
      else if (text !== stored) await replaceFile(file, text);
      const words = ['reload', 'crio.service'];
      const end = await run('systemctl', words, options);
      if (end.status !== 0) throw failed('systemctl', words, end);
      loaded = text;
    },
  };
}

function pinnedImagesConf(images: readonly string[]): string {
  const lines = images.map((image) => `  ${JSON.stringify(image)},\n`).join('');
  return `# Written by Slipway, from the PinnedImageSets of the pool.\n[crio.image]\npinned_images = [\n${lines}]\n`;
}

/** Empty = there is none. */
async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
