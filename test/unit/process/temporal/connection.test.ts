import type { ConnectionLike } from '@temporalio/client';
import { createLogger } from '../../../../process/logging';
import { TemporalConnection } from '../../../../process/temporal/connection';
import type { ConnectionOptions } from '../../../../process/temporal/connection-options';

const log = createLogger({ process: 'test', level: 'silent' });

/** Temporal, and its connections with their options. */
class World {
  readonly closed: (string | undefined)[] = [];
  nowMs = 0;
  key = 'old';
  /** False = a file is half written. */
  isReadable = true;
  refused: string | undefined;
  /** Keys whose connections get no answer. */
  dead = new Set<string>();

  readonly read = (): ConnectionOptions => {
    if (!this.isReadable) throw new Error('temporalTlsKey: /key cannot be read');
    return { address: 'temporal:7233', apiKey: this.key };
  };

  readonly connect = async ({ apiKey }: ConnectionOptions): Promise<Fake> => {
    if (apiKey === this.refused) throw new Error('no such key');
    return this.connection(apiKey ?? '');
  };

  connection(key: string, isDead = () => this.dead.has(key)): Fake {
    const getSystemInfo = async () => {
      if (isDead()) throw Object.assign(new Error('14 UNAVAILABLE: gone'), { code: 14 });
      return {};
    };
    return {
      key,
      plugins: [],
      workflowService: { getSystemInfo, describeNamespace: getSystemInfo },
      withDeadline: <Result>(_deadline: unknown, work: () => Promise<Result>) => work(),
      close: async () => {
        this.closed.push(key);
      },
    } as unknown as Fake;
  }

  link(first = this.connection('old')): TemporalConnection<Fake> {
    const { read, connect } = this;
    const options = {
      ...{ address: 'temporal:7233', namespace: 'slipway', searchAttributes: [] },
      ...{ read, connect, log, now: () => this.nowMs },
    };
    return new TemporalConnection(options, { address: 'temporal:7233', apiKey: 'old' }, first);
  }
}

type Fake = ConnectionLike & { readonly key: string };

async function ask(link: TemporalConnection<Fake>): Promise<void> {
  const stop = new AbortController();
  const once = { onAnswer: () => stop.abort(), onSilence: () => stop.abort() };
  await link.watch(stop.signal, { ...once, isUrgent: () => true });
}

describe('a certificate or API key that is renewed on disk', () => {
  it('is used within a minute, by a new connection', async () => {
    const world = new World();
    const link = world.link();
    const seen: string[] = [];
    const unfollow = link.follow(({ key }) => seen.push(key));
    world.key = 'new';
    world.nowMs = 59_999;
    await link.look();
    expect(link.connection.key).toBe('old');

    world.nowMs = 60_000;
    await link.look();

    expect(link.connection.key).toBe('new');
    expect(seen).toEqual(['old', 'new']);
    unfollow();
    expect(world.closed).toEqual([]);
    await link.close();
    expect(world.closed).toEqual(['old', 'new']);
  });

  it('is used at once when the old connection is silent', async () => {
    const world = new World();
    const link = world.link();
    world.dead.add('old');
    await ask(link);
    expect(link.waitingFor()).toEqual(['Temporal at temporal:7233']);

    world.key = 'new';
    await link.look();

    expect(link.connection.key).toBe('new');
    expect(link.waitingFor()).toEqual([]);
    await link.close();
  });

  it.each([
    ['refused', (world: World) => (world.refused = 'new'), /no such key/],
    ['half written', (world: World) => (world.isReadable = false), /\/key cannot be read/],
  ])(
    'and %s leaves the old connection, which says so, until it can be used',
    async (_how, spoil, reason) => {
      const world = new World();
      const link = world.link();
      world.key = 'new';
      spoil(world);
      world.nowMs = 60_000;
      await link.look();

      expect(link.connection.key).toBe('old');
      expect(link.waitingFor()).toEqual([expect.stringMatching(reason)]);

      world.refused = undefined;
      world.isReadable = true;
      world.nowMs = 120_000;
      await link.look();
      expect(link.connection.key).toBe('new');
      expect(link.waitingFor()).toEqual([]);
      await link.close();
    },
  );
});

describe('a connection that is dead', () => {
  it('asks for a new process after two minutes, when another one is answered', async () => {
    const world = new World();
    let isDead = true;
    const link = world.link(world.connection('mine', () => isDead));
    await ask(link);
    world.nowMs = 119_999;
    await link.look();
    expect(link.deathSentence()).toBeUndefined();

    world.nowMs = 120_000;
    await link.look();
    expect(link.deathSentence()).toMatch(/temporal:7233 answers a new connection/);
    expect(link.waitingFor()).toEqual(['Temporal at temporal:7233']);
    expect(world.closed).toEqual(['old']);

    isDead = false;
    await ask(link);
    expect(link.deathSentence()).toBeUndefined();
    await link.close();
  });

  it('asks for none while Temporal does not answer', async () => {
    const world = new World();
    const link = world.link();
    world.dead.add('old');
    await ask(link);

    world.nowMs = 3_600_000;
    await link.look();

    expect(link.deathSentence()).toBeUndefined();
    expect(link.waitingFor()).toEqual(['Temporal at temporal:7233']);
    await link.close();
  });
});

it.each([
  ['says so when it is not encrypted', {}, ['the connection is not encrypted']],
  ['says nothing with TLS', { tls: true as const }, []],
])('%s', (_what, tls, expected) => {
  const world = new World();
  const warn = jest.fn();
  const telling = Object.assign(Object.create(log) as typeof log, { warn });
  const { read, connect } = world;
  const address = 'temporal:7233';
  const options = { address, namespace: 'slipway', searchAttributes: [], read, connect };

  new TemporalConnection({ ...options, log: telling }, { address, ...tls }, world.connection('x'));

  expect(warn.mock.calls.map(([, says]: readonly unknown[]) => says)).toEqual(expected);
});
