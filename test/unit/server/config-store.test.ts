import { createConfigStore } from '../../../server/config-store';

const read = (name: string) =>
  Promise.resolve({
    metadata: { name },
    spec: { config: { ignition: { version: '3.5.0' } }, osImageURL: 'x'.repeat(1000) },
  });

describe('the config store', () => {
  it('forgets the config that was not used for longest when it is full', async () => {
    const store = createConfigStore(read, 2500);
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
    const store = createConfigStore(read, 10);
    await store.get('a');
    await store.get('a');

    expect(store.counts).toEqual({ hits: 1, misses: 1 });
  });

  it('does not remember what is not there', async () => {
    const store = createConfigStore(() => Promise.resolve(undefined));

    expect(await store.get('a')).toBeUndefined();
    expect(await store.get('a')).toBeUndefined();
    expect(store.counts.misses).toBe(2);
  });
});
