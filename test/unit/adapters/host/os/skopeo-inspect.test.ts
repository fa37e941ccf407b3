import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CommandEnd, RunCommand } from '../../../../../adapters/host/os/command';
import { createSkopeoInspector } from '../../../../../adapters/host/os/skopeo-inspect';

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
const IMAGE = `registry.example/os@${digest('a')}`;
const CONTEXT = { signal: new AbortController().signal, progress: (): void => undefined };

/** As skopeo prints it from 1.10 on, shortened. */
const ANSWER = {
  Digest: digest('a'),
  Architecture: 'amd64',
  Os: 'linux',
  Labels: { 'ostree.bootable': 'true' },
  Layers: [digest('b'), digest('c')],
  LayersData: [
    { MIMEType: 'application/vnd.oci.image.layer.v1.tar+gzip', Digest: digest('b'), Size: 100 },
    { MIMEType: 'application/vnd.oci.image.layer.v1.tar+gzip', Digest: digest('c'), Size: 20 },
  ],
};

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'slipway-skopeo-'));
});

afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(place: string): Promise<string> {
  const path = join(root, place);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, '{}');
  return path;
}

function inspectorWith(answer: unknown, end: Partial<CommandEnd> = {}, version = '1.14.0') {
  const calls: (readonly string[])[] = [];
  const run: RunCommand = (program, args) => {
    calls.push([program, ...args]);
    const text =
      args[0] === '--version' ? `skopeo version ${version}` : JSON.stringify(answer, null, 2);
    return Promise.resolve({ status: 0, lines: text.split('\n'), said: '', ...end });
  };
  return { calls, inspect: createSkopeoInspector({ run, root }) };
}

it('asks anonymously where the machine has no credentials for OS images', async () => {
  const { calls, inspect } = inspectorWith(ANSWER);
  expect(await inspect(IMAGE, false, CONTEXT)).toEqual({
    architecture: 'amd64',
    missingBytes: 120,
    bootable: true,
  });
  expect(calls).toEqual([['skopeo', 'inspect', '--no-tags', '--no-creds', `docker://${IMAGE}`]]);
});

it('takes the credentials of the running boot before those of the machine', async () => {
  const { calls, inspect } = inspectorWith(ANSWER);
  const persistent = await put('etc/ostree/auth.json');
  await inspect(IMAGE, false, CONTEXT);
  const volatile = await put('run/ostree/auth.json');
  await inspect(IMAGE, false, CONTEXT);
  expect(calls.map((words) => words.slice(3, 5))).toEqual([
    ['--authfile', persistent],
    ['--authfile', volatile],
  ]);
});

it('does not count layers that were pulled before', async () => {
  const { inspect } = inspectorWith(ANSWER);
  const layers = 'ostree/repo/refs/heads/ostree/container/blob';
  await put(join(layers, digest('b').replace(':', '_3A_')));
  expect(await inspect(IMAGE, false, CONTEXT)).toMatchObject({ missingBytes: 20 });
});

describe('an older skopeo, which tells no sizes', () => {
  const type = 'application/vnd.oci.image';
  const old = { ...ANSWER, LayersData: undefined };
  /** As in the registry. */
  const MANIFEST = {
    schemaVersion: 2,
    config: { mediaType: `${type}.config.v1+json`, digest: digest('e'), size: 7 },
    layers: [
      { mediaType: `${type}.layer.v1.tar+gzip`, digest: digest('b'), size: 100 },
      { mediaType: `${type}.layer.v1.tar+gzip`, digest: digest('c'), size: 20 },
    ],
  };
  const INDEX = {
    schemaVersion: 2,
    manifests: [
      { digest: digest('1'), size: 5, platform: { architecture: 'arm64', os: 'linux' } },
      { digest: digest('2'), size: 5, platform: { architecture: 'amd64', os: 'linux' } },
    ],
  };
  const reference = (letter: string): string => `docker://registry.example/os@${digest(letter)}`;

  function inspectorOf(manifests: Readonly<Record<string, object>>) {
    const asked: string[] = [];
    const run: RunCommand = (_program, args) => {
      const image = args.at(-1) ?? '';
      const isRaw = args.includes('--raw');
      if (isRaw) asked.push(image);
      const text = JSON.stringify(isRaw ? manifests[image] : old, null, 2);
      return Promise.resolve({ status: 0, lines: text.split('\n'), said: '' });
    };
    return { asked, inspect: createSkopeoInspector({ run, root }) };
  }

  it('is asked for the manifest', async () => {
    const { inspect } = inspectorOf({ [reference('a')]: MANIFEST });
    expect(await inspect(IMAGE, false, CONTEXT)).toEqual({
      architecture: 'amd64',
      missingBytes: 120,
      bootable: true,
    });
  });

  it('is asked for the manifest of the architecture that it has answered for', async () => {
    const { asked, inspect } = inspectorOf({ [reference('a')]: INDEX, [reference('2')]: MANIFEST });
    expect(await inspect(IMAGE, false, CONTEXT)).toMatchObject({ missingBytes: 120 });
    expect(asked).toEqual([reference('a'), reference('2')]);
  });
});

it('knows an image that is not bootable', async () => {
  const { inspect } = inspectorWith({ ...ANSWER, Labels: null });
  expect(await inspect(IMAGE, false, CONTEXT)).toMatchObject({ bootable: false });
});

it('names what skopeo says of a registry', async () => {
  const said = 'FATA[0000] reading manifest: manifest unknown';
  const { inspect } = inspectorWith('', { status: 1, said });
  await expect(inspect(IMAGE, false, CONTEXT)).rejects.toMatchObject({
    name: 'PullFailed',
    message: `image ${IMAGE}: skopeo inspect --no-tags --no-creds: ${said} (exit status 1)`,
  });
});

it('refuses an answer that it does not know', async () => {
  const { inspect } = inspectorWith({ Architecture: 'amd64' });
  await expect(inspect(IMAGE, false, CONTEXT)).rejects.toMatchObject({ name: 'OsCommandFailed' });
});

it('refuses an image that must be signed where skopeo would not look', async () => {
  const { calls, inspect } = inspectorWith(ANSWER, {}, '1.9.3');
  await expect(inspect(IMAGE, true, CONTEXT)).rejects.toMatchObject({
    name: 'ImageRefused',
    message: expect.stringContaining('install skopeo 1.14 or newer') as string,
  });
  expect(calls).toEqual([['skopeo', '--version']]);
  const newer = inspectorWith(ANSWER, {}, '1.14.2');
  expect(await newer.inspect(IMAGE, true, CONTEXT)).toMatchObject({ architecture: 'amd64' });
});
