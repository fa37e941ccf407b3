import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { watchingLayers } from '../../../../../adapters/host/os/layer-progress';
import type { PullProgress } from '../../../../../adapters/host/os/os-status';
import { commandFailure, context, createScriptedRunner, digest } from './fixtures';

const MANIFEST = JSON.stringify({
  schemaVersion: 2,
  layers: ['1', '2', '3'].map((character) => ({
    digest: digest(character),
    size: 10 * Number(character),
  })),
});

let root: string;
let refs: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'layers-'));
  refs = join(root, 'ostree/repo/refs/heads/ostree/container/blob');
  await mkdir(refs, { recursive: true });
});
afterEach(async () => {
  jest.useRealTimers();
  await rm(root, { recursive: true, force: true });
});

const arrive = (character: string): Promise<void> =>
  writeFile(join(refs, `sha256_3A_${character.repeat(64)}`), '');

it('counts the layers that come, without those that were there', async () => {
  await arrive('1');
  const { run, calls } = createScriptedRunner({ 'skopeo inspect': MANIFEST });
  const seen: PullProgress[] = [];
  let reported: () => void = () => undefined;
  const second = new Promise<void>((resolve) => (reported = resolve));
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate'] });
  await watchingLayers(
    { run, root, image: 'h/n@sha256:1', text: 'pull' },
    {
      ...context,
      progress: (_text, pull) => {
        if (pull !== undefined) seen.push(pull);
        if (seen.length === 2) reported();
      },
    },
    async () => {
      await arrive('2');
      jest.advanceTimersByTime(1_000);
      await second;
    },
  );
  expect(seen).toEqual([
    { bytes: 0, totalBytes: 50, layers: 0, totalLayers: 2 },
    { bytes: 20, totalBytes: 50, layers: 1, totalLayers: 2 },
    { bytes: 20, totalBytes: 50, layers: 1, totalLayers: 2 },
  ]);
  expect(calls).toEqual(['skopeo inspect --raw --no-creds docker://h/n@sha256:1']);
  expect(jest.getTimerCount()).toBe(0);
});

it('names the credentials of the host', async () => {
  await mkdir(join(root, 'etc/ostree'), { recursive: true });
  await writeFile(join(root, 'etc/ostree/auth.json'), '{}');
  const { run, calls } = createScriptedRunner({ 'skopeo inspect': MANIFEST });
  await watchingLayers({ run, root, image: 'h/n@sha256:1', text: '' }, context, async () => 1);
  expect(calls[0]).toContain(`--authfile ${join(root, 'etc/ostree/auth.json')}`);
});

it.each([commandFailure('skopeo inspect: refused'), '{"manifests":[]}'])(
  'pulls without numbers where there is no manifest to read',
  async (answer) => {
    const { run } = createScriptedRunner({ 'skopeo inspect': answer });
    const seen: unknown[] = [];
    const watched = { ...context, progress: (...said: unknown[]) => void seen.push(said) };
    const pull = watchingLayers({ run, root, image: 'x', text: 'pull' }, watched, async () => 7);
    await expect(pull).resolves.toBe(7);
    expect(seen).toEqual([['pull']]);
  },
);
