import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileInImage, RegistryClient } from '../../../adapters/registry';
import { parseNamed, type ImageReference } from '../../../core/registries/reference';
import {
  GUARDED_PASSWORD,
  pushImage,
  startGuardedRegistry,
  startRegistry,
  type GuardedRegistry,
  type Registry,
} from '../../../tools/registry';

jest.setTimeout(120_000);

const FILE = 'release-manifests/image-references';

let registry: Registry;
let guarded: GuardedRegistry;
let home: string;
let image: string;
const servers: Server[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'slipway-home-'));
  registry = await startRegistry();
  image = await pushImage(`${registry.address}/okd/release`, 'one', [
    { [FILE]: 'of the lower layer', 'etc/other': 'x' },
    { [`./${FILE}`]: 'of the upper layer' },
    { 'etc/last': 'y' },
  ]);
  guarded = await startGuardedRegistry(registry);
});

afterAll(async () => {
  for (const server of servers) server.close();
  await guarded?.stop();
  await registry?.stop();
  await rm(home, { recursive: true, force: true });
});

function client(env: Readonly<Record<string, string>> = {}): RegistryClient {
  return new RegistryClient({ HOME: home, ...env }, new AbortController().signal);
}

function named(text: string): ImageReference {
  const reference = parseNamed(text);
  if (reference === undefined) throw new Error(`${text} is no image`);
  return reference;
}

async function put(path: string, content: string): Promise<string> {
  const file = join(home, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, content);
  return file;
}

async function read(one: RegistryClient, reference: ImageReference): Promise<string | undefined> {
  const file = await fileInImage(one, reference, await one.image(reference), FILE);
  return file?.toString('utf8');
}

/** On this machine, in plain HTTP. @returns its address */
async function serve(
  answer: (asked: IncomingMessage, answer: ServerResponse) => void,
): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const digestOf = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex')}`;

it('looks up the digest of a tag, and reads a file from the highest layer that has it', async () => {
  const tag = named(`${registry.address}/okd/release:one`);
  expect(`${tag.name}@${await client().digest(tag)}`).toBe(image);
  expect(await read(client(), tag)).toBe('of the upper layer');
  expect(await read(client(), named(image))).toBe('of the upper layer');
});

it('reads the labels of an image', async () => {
  const labels = { 'io.openshift.os.streamclass': 'rhel-10' };
  const layers = [{ 'etc/a': 'a' }];
  const labelled = await pushImage(`${registry.address}/okd/labelled`, 'one', layers, labels);
  expect(await client().labels(named(labelled))).toEqual(labels);
  expect(await client().labels(named(image))).toEqual({});
});

it('has no file where no layer has it', async () => {
  const other = await pushImage(`${registry.address}/okd/other`, 'one', [{ 'etc/a': 'a' }]);
  expect(await read(client(), named(other))).toBeUndefined();
});

it.each([
  ['an unknown tag', 'okd/release:two'],
  ['an unknown repository', 'okd/nothing:one'],
  ['an unknown digest', `okd/release@sha256:${'0'.repeat(64)}`],
])('says of %s that the registry does not have it', async (_what, name) => {
  const text = `${registry.address}/${name}`;
  await expect(client().digest(named(text))).rejects.toMatchObject({
    name: 'PullFailed',
    message: `image ${text}: the registry has no such image; correct the name, the tag or the digest`,
  });
});

it('refuses a layer whose content somebody has changed', async () => {
  const broken = named(await pushImage(`${registry.address}/okd/broken`, 'one', [{ [FILE]: 'a' }]));
  const [layer] = (await client().image(broken)).layers;
  const replaced = await pushImage(`${registry.address}/okd/broken`, 'two', [{ [FILE]: 'b' }]);
  const [other] = (await client().image(named(replaced))).layers;
  const content = await readFile(registry.blobFile(other?.digest ?? ''));
  await writeFile(registry.blobFile(layer?.digest ?? ''), content);
  await expect(read(client(), broken)).rejects.toThrow(
    `layer ${layer?.digest}: its content has another digest, ${other?.digest}`,
  );
});

describe('a registry with passwords and a certificate of its own', () => {
  const of = (text: string): ImageReference =>
    named(text.replace(registry.address, guarded.registry.address));

  it('is not asked without knowing who signed its certificate', async () => {
    await expect(client().digest(of(image))).rejects.toThrow(
      `the registry ${guarded.registry.address} does not answer (`,
    );
  });

  it('is asked with the credentials and authorities that podman has', async () => {
    await put(`.config/containers/certs.d/${guarded.registry.address}/ca.crt`, guarded.authority);
    await expect(client().digest(of(image))).rejects.toThrow(
      `the registry ${guarded.registry.address} asks for credentials (401); log in with podman`,
    );
    const right = await put('right.json', guarded.credentials(GUARDED_PASSWORD));
    expect(await read(client({ REGISTRY_AUTH_FILE: right }), of(image))).toBe('of the upper layer');
    const wrong = await put('wrong.json', guarded.credentials('guess'));
    await expect(client({ REGISTRY_AUTH_FILE: wrong }).digest(of(image))).rejects.toThrow(
      'refuses your credentials (401); log in again',
    );
  });
});

describe('a registry that wants tokens', () => {
  it('gets one for its service and scope, bought with the password', async () => {
    const bought: unknown[] = [];
    const tokens = await serve((asked, answer) => {
      bought.push([asked.url, asked.headers.authorization]);
      answer.end(JSON.stringify({ token: 'ticket' }));
    });
    const manifest = JSON.stringify({ layers: [{ digest: digestOf(''), mediaType: 'x' }] });
    const shown: unknown[] = [];
    const place = await serve((asked, answer) => {
      shown.push(asked.headers.authorization);
      if (asked.headers.authorization === 'Bearer ticket') return answer.end(manifest);
      const challenge = `Bearer realm="http://${tokens}/token",service="quay",scope="repository:a/b:pull"`;
      return answer.writeHead(401, { 'www-authenticate': challenge }).end();
    });
    const auth = Buffer.from('me:secret').toString('base64');
    const file = await put('tokens.json', JSON.stringify({ auths: { [place]: { auth } } }));
    const one = client({ REGISTRY_AUTH_FILE: file });

    expect(await one.digest(named(`${place}/a/b:c`))).toBe(digestOf(manifest));
    await one.image(named(`${place}/a/b:c`));
    expect(bought).toEqual([
      ['/token?service=quay&scope=repository%3Aa%2Fb%3Apull', `Basic ${auth}`],
    ]);
    expect(shown).toEqual([undefined, 'Bearer ticket', 'Bearer ticket']);
  });

  it('keeps the token to itself when it sends the reader elsewhere', async () => {
    const seen: unknown[] = [];
    const elsewhere = await serve((asked, answer) => {
      seen.push(asked.headers.authorization);
      answer.end('{"layers": []}');
    });
    const auth = Buffer.from('me:secret').toString('base64');
    const place = await serve((asked, answer) => {
      if (asked.headers.authorization === undefined) {
        return answer.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end();
      }
      return answer.writeHead(307, { location: `http://${elsewhere}/manifest` }).end();
    });
    const file = await put('elsewhere.json', JSON.stringify({ auths: { [place]: { auth } } }));

    await client({ REGISTRY_AUTH_FILE: file }).digest(named(`${place}/a/b:c`));
    expect(seen).toEqual([undefined]);
  });
});

it.each([
  ['no JSON', 'text', 'the manifest is not JSON'],
  ['no layers', '{}', 'its manifest names no layers'],
])('refuses a manifest with %s', async (_what, body, problem) => {
  const place = await serve((_asked, answer) => answer.end(body));
  await expect(client().image(named(`${place}/a/b:c`))).rejects.toThrow(
    `image ${place}/a/b:c: ${problem}`,
  );
});

it('takes the image for amd64 of one for several architectures, and names the whole by its digest', async () => {
  const layers = [{ digest: digestOf('layer'), mediaType: 'x' }];
  const manifest = JSON.stringify({ layers });
  const list = JSON.stringify({
    manifests: [
      { digest: digestOf('arm'), platform: { os: 'linux', architecture: 'arm64' } },
      { digest: digestOf(manifest), platform: { os: 'linux', architecture: 'amd64' } },
    ],
  });
  const place = await serve((asked, answer) =>
    answer.end(asked.url?.endsWith(digestOf(manifest)) === true ? manifest : list),
  );
  const found = await client().image(named(`${place}/a/b:c`));
  expect(found).toEqual({ digest: digestOf(list), config: '', layers });
});

it('names a registry that does not answer', async () => {
  const place = await serve(() => undefined);
  servers.at(-1)?.close();
  servers.at(-1)?.closeAllConnections();
  await expect(client().digest(named(`${place}/a/b:c`))).rejects.toThrow(
    `image ${place}/a/b:c: the registry ${place} does not answer (`,
  );
});
