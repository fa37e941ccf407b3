import { mkdir, mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createImageGate,
  requireSpace,
  type ImageFacts,
} from '../../../../../adapters/host/os/image-checks';

const DIGEST = `sha256:${'a'.repeat(64)}`;
const IMAGE = `registry.example/os@${DIGEST}`;
const CONTEXT = { signal: new AbortController().signal, progress: (): void => undefined };

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'slipway-checks-'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

function gateFor(facts: Partial<ImageFacts> = {}) {
  const asked: { readonly image: string; readonly signed: boolean }[] = [];
  const gate = createImageGate({
    inspect: (image, signed) => {
      asked.push({ image, signed });
      return Promise.resolve({ architecture: 'amd64', missingBytes: 10, bootable: true, ...facts });
    },
    root,
    sysroot: root,
    architecture: 'x64',
  });
  return { gate, asked };
}

async function putPolicy(type: string, transports: object = {}): Promise<void> {
  await mkdir(join(root, 'etc/containers'), { recursive: true });
  const path = join(root, 'etc/containers/policy.json');
  await writeFile(path, JSON.stringify({ default: [{ type }], transports }));
}

it('takes an image for this machine that has room', async () => {
  const { gate, asked } = gateFor();
  await expect(gate.check(IMAGE, CONTEXT)).resolves.toBeUndefined();
  expect(asked).toEqual([{ image: IMAGE, signed: false }]);
});

it.each(['registry.example/os', 'registry.example/os:v1', 'registry.example/os@sha256:12'])(
  'refuses %s before it asks anybody',
  async (image) => {
    const { gate, asked } = gateFor();
    await expect(gate.check(image, CONTEXT)).rejects.toMatchObject({
      name: 'ImageRefused',
      message: expect.stringContaining('name it as name@sha256:') as string,
    });
    expect(asked).toEqual([]);
  },
);

it('refuses what the policy rejects before it asks the registry', async () => {
  await putPolicy('reject');
  const { gate, asked } = gateFor();
  await expect(gate.check(IMAGE, CONTEXT)).rejects.toMatchObject({
    name: 'ImageRefused',
    message: `the signature policy of this host (containers/policy.json, scope default) rejects image ${IMAGE}`,
  });
  expect(asked).toEqual([]);
});

it('asks for a signature where the policy wants one', async () => {
  await putPolicy('sigstoreSigned');
  const { gate, asked } = gateFor();
  await gate.check(IMAGE, CONTEXT);
  expect(asked).toEqual([{ image: IMAGE, signed: true }]);
  expect(await gate.usesSignedForm(IMAGE)).toBe(true);
});

it('asks programs for no signed form where only a scope wants a signature: they refuse it', async () => {
  const signed = { '': [{ type: 'sigstoreSigned' }] };
  await putPolicy('insecureAcceptAnything', { docker: signed });
  const { gate, asked } = gateFor();
  await gate.check(IMAGE, CONTEXT);
  expect(asked).toEqual([{ image: IMAGE, signed: true }]);
  expect(await gate.usesSignedForm(IMAGE)).toBe(false);
});

it.each([
  {
    facts: { architecture: 'arm64' },
    message: `image ${IMAGE} is for arm64; this machine is amd64`,
  },
  {
    facts: { bootable: false },
    message: `image ${IMAGE} is not an OS image: it has neither the label ostree.bootable nor containers.bootc`,
  },
])('refuses $facts', async ({ facts, message }) => {
  const { gate } = gateFor(facts);
  await expect(gate.check(IMAGE, CONTEXT)).rejects.toMatchObject({ name: 'ImageRefused', message });
});

it('refuses an image that would fill the disk, with the numbers', async () => {
  const disk = await statfs(root);
  const missingBytes = disk.bavail * disk.bsize;
  const { gate } = gateFor({ missingBytes });
  await expect(gate.check(IMAGE, CONTEXT)).rejects.toMatchObject({
    name: 'ImageRefused',
    message: expect.stringMatching(
      /^no space for image .* has \d+ MiB free and needs \d+ MiB/,
    ) as string,
  });
});

it('needs no room for an image that is there', async () => {
  const full = { sysroot: root, reserve: 1 };
  await expect(requireSpace(IMAGE, 0, full)).resolves.toBeUndefined();
  await expect(requireSpace(IMAGE, 1, full)).rejects.toMatchObject({ name: 'ImageRefused' });
});
