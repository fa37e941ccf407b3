import { WatchCache, type CacheEvent } from '../../../../adapters/kube/cache';
import { fail } from '../../../../core/errors';
import type { Resource } from '../../../../adapters/kube/resources';
import { anObject, scriptedSource, type Played, type ScriptedSource } from './scripted-source';

const THINGS: Resource<Played> = {
  group: 'example.org',
  version: 'v1',
  plural: 'things',
  kind: 'Thing',
  namespaced: false,
};

const gone = () => fail('ApiUnavailable', 'too old', { code: 410 });
const broken = () => fail('ApiUnavailable', 'connection reset', { code: 0 });
const notServed = () => fail('ObjectNotFound', 'no such kind', { code: 404 });

let logged: string[];
const log = {
  debug: () => undefined,
  info: (_fields: object, message: string) => logged.push(message),
  warn: (_fields: object, message: string) => logged.push(message),
  error: (_fields: object, message: string) => logged.push(message),
};

beforeEach(() => {
  logged = [];
});

interface Played_ {
  readonly cache: WatchCache<Played>;
  readonly events: string[];
}

async function play(
  source: ScriptedSource,
  options: { readonly optional?: boolean; readonly transform?: (object: Played) => Played } = {},
): Promise<Played_> {
  const cache = new WatchCache<Played>({
    resource: THINGS,
    log,
    backoff: { firstMs: 1, maxMs: 1 },
    indexes: { data: ({ data }) => (data === undefined ? [] : [data]) },
    ...options,
  });
  const events: string[] = [];
  cache.subscribe(({ type, object }: CacheEvent<Played>) => {
    events.push(`${type} ${object.metadata.name}@${object.metadata.resourceVersion}`);
  });
  const stopping = new AbortController();
  const running = cache.run(source, stopping.signal);
  await source.finished;
  stopping.abort();
  await running;
  return { cache, events };
}

it('lists once, and resumes from the last version that it saw, bookmarks included', async () => {
  const source = scriptedSource({
    lists: [{ version: '10', items: [anObject('a', 5)] }],
    watches: [
      [{ type: 'MODIFIED', object: anObject('a', 11, { data: 'x' }) }, broken()],
      [{ type: 'BOOKMARK', object: { metadata: { name: '', resourceVersion: '20' } } }],
    ],
  });

  const { events } = await play(source);

  expect(source.lists).toBe(1);
  expect(source.resumedFrom).toEqual(['10', '11', '20']);
  expect(events).toEqual(['added a@5', 'modified a@11']);
});

it('lists again when the version is too old, and tells what is gone since', async () => {
  const source = scriptedSource({
    lists: [
      { version: '10', items: [anObject('a', 5), anObject('b', 6)] },
      { version: '30', items: [anObject('b', 25, { data: 'new' }), anObject('c', 26)] },
    ],
    watches: [[gone()]],
  });

  const { cache, events } = await play(source);

  expect(source.resumedFrom).toEqual(['10', '30']);
  expect(events).toEqual(['added a@5', 'added b@6', 'modified b@25', 'added c@26', 'deleted a@5']);
  expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(['b', 'c']);
});

it('is not synced before a LIST has come through', async () => {
  const source = scriptedSource({
    lists: [broken(), broken(), { version: '10', items: [] }],
    watches: [],
  });

  const { cache } = await play(source);

  expect(source.lists).toBe(3);
  expect(cache.isSynced).toBe(true);
});

it('waits for a kind that is not served, and says so once', async () => {
  const source = scriptedSource({
    lists: [notServed(), notServed(), { version: '10', items: [anObject('a', 5)] }],
    watches: [],
  });

  const { cache } = await play(source);

  expect(cache.list()).toHaveLength(1);
  expect(logged).toEqual(['kind is not served; waiting for its CustomResourceDefinition']);
});

it('says once that it may not look', async () => {
  const forbidden = () => fail('ApiForbidden', 'things is forbidden', { code: 403 });
  const source = scriptedSource({
    lists: [forbidden(), forbidden(), { version: '10', items: [] }],
    watches: [[forbidden()], [forbidden()]],
  });

  const { cache } = await play(source);

  expect(cache.isSynced).toBe(true);
  expect(logged).toEqual(['the API server refuses the watch', 'the API server refuses the watch']);
});

it('goes on without an optional kind that is not served', async () => {
  const source = scriptedSource({ lists: [notServed()], watches: [] });
  const cache = new WatchCache<Played>({ resource: THINGS, log, optional: true });
  const stopping = new AbortController();
  const running = cache.run(source, stopping.signal);

  await cache.synced;

  expect(cache.list()).toEqual([]);
  expect(logged).toEqual([]);
  stopping.abort();
  await running;
});

it('skips a malformed object, says so once, and keeps the others', async () => {
  const malformed = { metadata: {} } as Played;
  const source = scriptedSource({
    lists: [{ version: '10', items: [malformed, anObject('a', 5)] }],
    watches: [[{ type: 'ADDED', object: malformed }]],
  });

  const { cache } = await play(source);

  expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(['a']);
  expect(logged).toEqual(['skipped a malformed object']);
});

it('a listener that throws does not stop the others', async () => {
  const cache = new WatchCache<Played>({ resource: THINGS, log });
  const heard: string[] = [];
  cache.subscribe(() => {
    throw new Error('oops');
  });
  cache.subscribe(({ object }) => heard.push(object.metadata.name));

  cache.absorb(anObject('a', 1));

  expect(heard).toEqual(['a']);
  expect(logged).toEqual(['listener of a watch cache failed']);
});

it('keeps only what the transform keeps, and what it drops is no change', async () => {
  const source = scriptedSource({
    lists: [{ version: '10', items: [anObject('a', 5, { data: 'secret' })] }],
    watches: [[{ type: 'MODIFIED', object: anObject('a', 11, { data: 'other' }) }]],
  });

  const { cache, events } = await play(source, { transform: ({ metadata }) => ({ metadata }) });

  expect(cache.get('a')).toEqual({
    metadata: { name: 'a', uid: 'uid-a', resourceVersion: '11' },
  });
  expect(events).toEqual(['added a@5']);
});

it('drops managedFields', async () => {
  const metadata = { name: 'a', resourceVersion: '5', managedFields: [{ manager: 'x' }] };
  const source = scriptedSource({
    lists: [{ version: '10', items: [{ metadata }] }],
    watches: [],
  });

  const { cache } = await play(source);

  expect(cache.get('a')?.metadata).toEqual({ name: 'a', resourceVersion: '5' });
});

it('looks up by index, following changes', async () => {
  const source = scriptedSource({
    lists: [{ version: '10', items: [anObject('a', 5, { data: 'x' }), anObject('b', 6)] }],
    watches: [
      [
        { type: 'MODIFIED', object: anObject('a', 11, { data: 'y' }) },
        { type: 'MODIFIED', object: anObject('b', 12, { data: 'y' }) },
        { type: 'DELETED', object: anObject('a', 13, { data: 'y' }) },
      ],
    ],
  });

  const { cache } = await play(source);

  expect(cache.byIndex('data', 'x')).toEqual([]);
  expect(cache.byIndex('data', 'y').map(({ metadata }) => metadata.name)).toEqual(['b']);
});

describe('an own write', () => {
  const listed = () =>
    scriptedSource({ lists: [{ version: '10', items: [anObject('a', 5)] }], watches: [] });

  it('is seen before the watch shows it, and an older event does not undo it', async () => {
    const { cache } = await play(
      scriptedSource({ lists: [{ version: '10', items: [anObject('a', 5)] }], watches: [] }),
    );
    cache.absorb(anObject('a', 15, { data: 'mine' }));
    expect(cache.get('a')?.data).toBe('mine');

    const late = scriptedSource({
      lists: [{ version: '14', items: [anObject('a', 12, { data: 'before' })] }],
      watches: [[{ type: 'MODIFIED', object: anObject('a', 13, { data: 'before' }) }]],
    });
    const stopping = new AbortController();
    const running = cache.run(late, stopping.signal);
    await late.finished;
    stopping.abort();
    await running;

    expect(cache.get('a')?.data).toBe('mine');
  });

  it('that is older than what the watch has shown is ignored', async () => {
    const { cache } = await play(listed());

    cache.absorb(anObject('a', 4, { data: 'old' }));

    expect(cache.get('a')?.data).toBeUndefined();
  });

  it('does not bring back what was deleted meanwhile', async () => {
    const source = scriptedSource({
      lists: [{ version: '10', items: [anObject('a', 5)] }],
      watches: [[{ type: 'DELETED', object: anObject('a', 12) }]],
    });
    const { cache } = await play(source);

    cache.absorb(anObject('a', 11, { data: 'mine' }));

    expect(cache.get('a')).toBeUndefined();
  });

  it('does not replace a new object of the same name', async () => {
    const { cache } = await play(listed());

    cache.absorb(
      anObject('a', 20, { metadata: { name: 'a', uid: 'another', resourceVersion: '20' } }),
    );

    expect(cache.get('a')?.metadata.uid).toBe('uid-a');
  });

  it('of a new object is seen at once, and stays through a list that is older', async () => {
    const { cache } = await play(listed());
    cache.absorb(anObject('b', 12));
    expect(cache.get('b')).toBeDefined();

    const older = scriptedSource({
      lists: [{ version: '11', items: [anObject('a', 5)] }],
      watches: [],
    });
    const stopping = new AbortController();
    const running = cache.run(older, stopping.signal);
    await older.finished;
    stopping.abort();
    await running;

    expect(cache.get('b')).toBeDefined();
  });
});

describe('how new it is', () => {
  const source = () =>
    scriptedSource({
      lists: [{ version: '10', items: [anObject('a', 5)] }],
      watches: [[{ type: 'MODIFIED', object: anObject('a', 12) }]],
    });

  it('is the newest version of an object in it, an own write included', async () => {
    const { cache } = await play(source());
    expect(cache.newest).toBe(12);

    cache.absorb(anObject('b', 20));

    expect(cache.newest).toBe(20);
  });

  it('counts what is gone', async () => {
    const deleted = scriptedSource({
      lists: [{ version: '10', items: [anObject('a', 5)] }],
      watches: [[{ type: 'DELETED', object: anObject('a', 14) }]],
    });

    const { cache } = await play(deleted);

    expect(cache.newest).toBe(14);
  });

  it('is reached once the watch has shown that much', async () => {
    const cache = new WatchCache<Played>({ resource: THINGS, log });
    const reached = Promise.all([10, 12].map((version) => cache.reached(version, 60_000)));
    const stopping = new AbortController();
    const running = cache.run(source(), stopping.signal);

    expect(await reached).toEqual([true, true]);
    expect(await cache.reached(11, 0)).toBe(true);
    stopping.abort();
    await running;
  });

  it('is not reached by an own write: what others did before it may be missing', async () => {
    const { cache } = await play(source());
    cache.absorb(anObject('b', 20));

    expect(await cache.reached(20, 1)).toBe(false);
  });
});

it('gives the same array until something changes', async () => {
  const { cache } = await play(
    scriptedSource({ lists: [{ version: '10', items: [anObject('a', 5)] }], watches: [] }),
  );
  const before = cache.list();
  expect(cache.list()).toBe(before);

  cache.absorb(anObject('a', 11));

  expect(cache.list()).not.toBe(before);
});

describe('a list that was asked for aside', () => {
  const shown = () =>
    scriptedSource({
      lists: [{ version: '10', items: [anObject('a', 5), anObject('gone', 6)] }],
      watches: [],
    });
  const aside = { resourceVersion: '20', items: [anObject('a', 15), anObject('b', 16)] };

  it('is what there is, as if the watch had shown it', async () => {
    const { cache } = await play(shown());

    cache.takeOver(aside);

    expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(await cache.reached(20, 0)).toBe(true);
  });

  it('is older than what the watch shows, and says nothing', async () => {
    const { cache } = await play(shown());

    cache.takeOver({ resourceVersion: '9', items: [] });

    expect(cache.list()).toHaveLength(2);
  });

  it('is not undone by what the watch was yet to show', async () => {
    const late = scriptedSource({
      lists: [{ version: '10', items: [anObject('a', 5), anObject('gone', 6)] }],
      watches: [
        [
          { type: 'MODIFIED', object: anObject('a', 11, { data: 'before the list' }) },
          { type: 'MODIFIED', object: anObject('gone', 12) },
          { type: 'MODIFIED', object: anObject('a', 13) },
          { type: 'ADDED', object: anObject('c', 21) },
        ],
      ],
    });
    const cache = new WatchCache<Played>({ resource: THINGS, log });
    cache.subscribe(({ object }) => {
      if (object.data === 'before the list') cache.takeOver(aside);
    });
    const stopping = new AbortController();
    const running = cache.run(late, stopping.signal);
    await late.finished;
    stopping.abort();
    await running;

    expect(cache.list().map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c']);
    expect(cache.get('a')?.metadata.resourceVersion).toBe('15');
  });
});
