import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fail } from '../../../../../core/errors';
import { createContainerImages } from '../../../../../adapters/host/container-images/container-images';
import type { CommandEnd, RunCommand } from '../../../../../adapters/host/os/command';

const IMAGE = `registry.example.com/a/b@sha256:${'1'.repeat(64)}`;

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slipway-images-'));
  mkdirSync(join(root, 'var/lib/kubelet'), { recursive: true });
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

interface Call {
  readonly words: string;
  readonly environment: object | undefined;
}

/** @param ends - by the first words of a command; others end well and say nothing */
function given(
  programs: readonly string[],
  ends: Readonly<Record<string, Partial<CommandEnd>>> = {},
) {
  const calls: Call[] = [];
  const run: RunCommand = async (program, args, options) => {
    if (!programs.includes(program)) throw fail('OsCommandFailed', `${program} is not installed`);
    const words = [program, ...args].join(' ');
    if (args[0] !== '--version') calls.push({ words, environment: options?.environment });
    const found = Object.entries(ends).find(([start]) => words.startsWith(start))?.[1];
    return { status: 0, lines: [], said: '', ...found };
  };
  return { images: createContainerImages({ root, run }), calls };
}

const { signal } = new AbortController();

it('asks and pulls with crictl, which every runtime answers', async () => {
  const { images, calls } = given(['crictl', 'ctr'], { 'crictl inspecti': { status: 1 } });
  expect(await images.has(IMAGE, signal)).toBe(false);
  await images.pull(IMAGE, signal);
  expect(calls).toEqual([
    { words: `crictl inspecti ${IMAGE}`, environment: undefined },
    { words: `crictl pull ${IMAGE}`, environment: {} },
  ]);
});

it('shows crictl the credentials of the kubelet for the registry, and no other user of the machine', async () => {
  const auth = Buffer.from('me:secret').toString('base64');
  const auths = { 'registry.example.com': { auth }, 'other.example.com': { auth: 'x' } };
  writeFileSync(join(root, 'var/lib/kubelet/config.json'), JSON.stringify({ auths }));
  const { images, calls } = given(['crictl']);
  await images.pull(IMAGE, signal);
  expect(calls).toEqual([{ words: `crictl pull ${IMAGE}`, environment: { CRICTL_AUTH: auth } }]);
});

it('uses ctr where there is no crictl', async () => {
  const { images, calls } = given(['ctr'], {
    'ctr --namespace k8s.io images list': { lines: ['', IMAGE] },
  });
  expect(await images.has(IMAGE, signal)).toBe(true);
  await images.pull(IMAGE, signal);
  expect(calls.map(({ words }) => words)).toEqual([
    `ctr --namespace k8s.io images list --quiet name==${IMAGE}`,
    `ctr --namespace k8s.io images pull --hosts-dir /etc/containerd/certs.d ${IMAGE}`,
  ]);
});

it('says what is missing where there is neither', async () => {
  await expect(given([]).images.has(IMAGE, signal)).rejects.toMatchObject({
    name: 'OsCommandFailed',
    message: expect.stringContaining('neither crictl nor ctr; install one of them') as unknown,
  });
});

it.each(['crictl', 'ctr'])('names the image that %s could not pull, and why', async (program) => {
  const start = program === 'ctr' ? 'ctr --namespace k8s.io images pull' : 'crictl pull';
  const { images } = given([program], { [start]: { status: 1, said: 'not found' } });
  await expect(images.pull(IMAGE, signal)).rejects.toMatchObject({
    name: 'PullFailed',
    message: expect.stringMatching(`^image ${IMAGE}: .*not found`) as unknown,
  });
});

it('says what to install when ctr was refused where the kubelet has credentials', async () => {
  const auths = { 'registry.example.com': { auth: 'bWU6c2VjcmV0' } };
  writeFileSync(join(root, 'var/lib/kubelet/config.json'), JSON.stringify({ auths }));
  const refused = { status: 1, said: '401 Unauthorized' };
  const { images } = given(['ctr'], { 'ctr --namespace k8s.io images pull': refused });
  await expect(images.pull(IMAGE, signal)).rejects.toMatchObject({
    message: expect.stringMatching(
      '401 Unauthorized .*it pulls without credentials, so install crictl$',
    ) as unknown,
  });
});

it('knows the file system of the images', async () => {
  mkdirSync(join(root, 'var/lib/containerd'));
  const { free, total } = await given([]).images.room();
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(total);
});

describe('the size of an image', () => {
  it('is that of its compressed layers, asked with the credentials of the kubelet', async () => {
    const file = join(root, 'var/lib/kubelet/config.json');
    writeFileSync(file, '{}');
    const layers = [1, 2].map((size) => ({ Digest: `sha256:${size}`, Size: size * 1000 }));
    const lines = [JSON.stringify({ Architecture: 'amd64', LayersData: layers })];
    const { images, calls } = given(['skopeo'], { skopeo: { lines } });
    expect(await images.bytes(IMAGE, signal)).toBe(3000);
    expect(calls.map(({ words }) => words)).toEqual([
      `skopeo inspect --no-tags --authfile ${file} docker://${IMAGE}`,
    ]);
  });

  it.each([
    ['there is no skopeo', []],
    ['skopeo does not reach the image', ['skopeo']],
  ])('is not known when %s', async (_when, programs) => {
    const { images } = given(programs, { skopeo: { status: 1, said: 'connection refused' } });
    expect(await images.bytes(IMAGE, signal)).toBeUndefined();
  });
});
