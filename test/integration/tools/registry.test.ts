import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import {
  GUARDED_PASSWORD,
  startGate,
  startGuardedRegistry,
  startRegistry,
  type Registry,
} from '../../../tools/registry';

jest.setTimeout(120_000);

let registry: Registry;

beforeAll(async () => {
  registry = await startRegistry();
});

afterAll(async () => {
  await registry.stop();
});

function digestOf(content: Buffer): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}

async function push(content: Buffer): Promise<string> {
  const digest = digestOf(content);
  const begun = await fetch(`http://${registry.address}/v2/os/blobs/uploads/`, { method: 'POST' });
  const location = new URL(begun.headers.get('location') ?? '', `http://${registry.address}`);
  location.searchParams.set('digest', digest);
  const ended = await fetch(location, { method: 'PUT', body: new Uint8Array(content) });
  expect(ended.status).toBe(201);
  return digest;
}

function blobUrl(address: string, digest: string): string {
  return `http://${address}/v2/os/blobs/${digest}`;
}

it('keeps what is pushed and counts the bytes that it serves', async () => {
  const digest = await push(Buffer.alloc(10_000, 'a'));
  const { result, blobs, bytes } = await registry.during(async () => {
    const answer = await fetch(blobUrl(registry.address, digest));
    return answer.text();
  });
  expect(result).toHaveLength(10_000);
  expect(blobs).toEqual([{ digest, bytes: 10_000 }]);
  expect(bytes).toBe(10_000);
  expect(await registry.blobs()).toEqual(blobs);
});

it('serves what its storage holds, also when somebody broke it', async () => {
  const digest = await push(Buffer.alloc(100, 'b'));
  await writeFile(registry.blobFile(digest), Buffer.alloc(100, 'x'));
  const answer = await fetch(blobUrl(registry.address, digest));
  expect(await answer.text()).toBe('x'.repeat(100));
});

it('is gone after a kill and back with its content after a restart', async () => {
  const digest = await push(Buffer.alloc(100, 'c'));
  await registry.kill();
  await expect(fetch(blobUrl(registry.address, digest))).rejects.toThrow('fetch failed');
  await registry.restart();
  const answer = await fetch(blobUrl(registry.address, digest));
  expect(await answer.text()).toBe('c'.repeat(100));
});

it('has a gate that holds, cuts and halves blobs, and passes the others', async () => {
  const digest = await push(Buffer.alloc(60_000, 'd'));
  const gate = await startGate(registry.address);
  try {
    const url = blobUrl(gate.address, digest);
    expect(await (await fetch(url)).text()).toHaveLength(60_000);
    gate.decide(() => 'cut');
    await expect(fetch(url)).rejects.toThrow();
    gate.decide(() => 'half');
    await expect(fetch(url).then((answer) => answer.text())).rejects.toThrow();
    gate.decide(() => 'hold');
    const abort = new AbortController();
    const waiting = fetch(url, { signal: abort.signal });
    await gate.held();
    abort.abort();
    await expect(waiting).rejects.toThrow('aborted');
    expect(gate.asked).toEqual([digest]);
    gate.decide(() => 'hold');
    const held = fetch(url);
    await gate.held();
    gate.release();
    expect(await (await held).text()).toHaveLength(60_000);
  } finally {
    await gate.close();
  }
});

it('counts what it serves also when it asks for name and password', async () => {
  const content = Buffer.alloc(10_000, 'e');
  const digest = await push(content);
  const guarded = await startGuardedRegistry(registry);
  try {
    const { authority, registry: behind } = guarded;
    const { auths } = JSON.parse(guarded.credentials(GUARDED_PASSWORD)) as {
      readonly auths: Readonly<Record<string, { readonly auth: string }>>;
    };
    const authorization = `Basic ${auths[behind.address]?.auth ?? ''}`;
    const url = `https://${behind.address}/v2/os/blobs/${digest}`;
    const { result, blobs } = await behind.during(async () => [
      await getSecurely(url, authority, {}),
      await getSecurely(url, authority, { authorization }),
    ]);

    expect(result).toEqual([401, 200]);
    expect(blobs).toEqual([{ digest, bytes: content.length }]);
  } finally {
    await guarded.stop();
  }
});

/** The status of the answer, after its whole body. */
function getSecurely(url: string, ca: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { ca, headers, agent: false }, (answer) => {
      answer.resume();
      answer.once('end', () => resolve(answer.statusCode ?? 0));
    });
    request.once('error', reject);
  });
}
