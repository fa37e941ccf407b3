import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainerImages } from '../../../../adapters/host/container-images';
import type { CommandEnd, RunCommand } from '../../../../adapters/host/os/command';

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
    if (!programs.includes(program)) throw new Error(`${program} is not there`);
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

it('knows how much of the file system of the images is free', async () => {
  mkdirSync(join(root, 'var/lib/containerd'));
  const free = await given([]).images.freePart();
  expect(free).toBeGreaterThan(0);
  expect(free).toBeLessThanOrEqual(1);
});
