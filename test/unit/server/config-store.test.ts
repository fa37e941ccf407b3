import { fail } from '../../../core/errors';
import { createConfigStore } from '../../../server/config-store';

const read = (name: string) =>
  Promise.resolve({
    metadata: { name },
    spec: { config: { ignition: { version: '3.5.0' } }, osImageURL: 'x'.repeat(1000) },
  });

describe('the config store', () => {
  it('forgets the config that was not used for longest when it is full', async () => {
    const store = createConfigStore(read, { maxBytes: 2500 });
    await store.get('a');
    await store.get('b');
    await store.get('a');
    await store.get('c');

    await store.get('a');
    expect(store.counts).toEqual({ hits: 2, misses: 3 });
    await store.get('b');
    expect(store.counts).toEqual({ hits: 2, misses: 4 });
  });

  it('keeps one config even if it is larger than the bound', async () => {
    const store = createConfigStore(read, { maxBytes: 10 });
    await store.get('a');
    await store.get('a');

    expect(store.counts).toEqual({ hits: 1, misses: 1 });
  });

  it('keeps no more memory than it counts, also for small configs', async () => {
    const store = createConfigStore(read);
    const stored = await store.get('a');

    expect(stored?.bytes.length).toBeGreaterThan(1000);
    expect(stored?.bytes.buffer.byteLength).toBe(stored?.bytes.length);
  });

  it('serves a config that was made again under its name, after a moment', async () => {
    const clock = { now: 0 };
    const object = { uid: 'one', osImageURL: 'old' };
    const reads: string[] = [];
    const store = createConfigStore(
      (name) => {
        reads.push(name);
        const { uid, osImageURL } = object;
        const config = { ignition: { version: '3.5.0' } };
        return Promise.resolve({
          metadata: { name, uid, resourceVersion: '1' },
          spec: { config, osImageURL },
        });
      },
      { now: () => clock.now },
    );
    const first = await store.get('a');
    object.uid = 'two';
    object.osImageURL = 'new';

    clock.now = 9_999;
    expect((await store.get('a'))?.digest).toBe(first?.digest);
    clock.now = 10_000;
    const second = await store.get('a');
    expect(second?.digest).not.toBe(first?.digest);
    expect(second?.bytes.toString()).toContain('"new"');
    clock.now = 20_000;
    // The same version again: the cached bytes.
    expect((await store.get('a'))?.bytes).toBe(second?.bytes);
    expect(reads).toHaveLength(3);
  });

  it('serves what it has while the API server is away, and forgets what was deleted', async () => {
    const clock = { now: 0 };
    const state = { answer: (name: string): ReturnType<typeof read> | undefined => read(name) };
    const store = createConfigStore(async (name) => state.answer(name), { now: () => clock.now });
    const first = await store.get('a');

    clock.now = 60_000;
    state.answer = () => Promise.reject(fail('ApiUnavailable', 'get a: connection refused'));
    expect((await store.get('a'))?.digest).toBe(first?.digest);
    state.answer = () => undefined;
    expect(await store.get('a')).toBeUndefined();
    state.answer = () => Promise.reject(fail('ApiUnavailable', 'get a: connection refused'));
    await expect(store.get('a')).rejects.toMatchObject({ name: 'ApiUnavailable' });
  });

  it('does not remember what is not there', async () => {
    const store = createConfigStore(() => Promise.resolve(undefined));

    expect(await store.get('a')).toBeUndefined();
    expect(await store.get('a')).toBeUndefined();
    expect(store.counts.misses).toBe(2);
  });
});
