import type { Lease } from '../../../adapters/kube/resources';
import { runForLeader, type Leadership, type LeaseApi } from '../../../controllers/leader';
import { fail } from '../../../core/errors';

jest.mock('node:timers/promises', () => jest.requireActual<object>('../faked-delay'));

/** A Lease on an API server: versions, conflicts, and a switch to make it unavailable. */
class LeaseServer implements LeaseApi {
  lease: Lease | undefined;
  away = false;
  /** The reason for which it refuses every request. */
  forbids: string | undefined;
  hanging = false;
  /** Delay of the answer to a write that was done at once. */
  answerMs = 0;
  writes: string[] = [];
  #version = 0;

  async get(): Promise<Lease> {
    await this.#answer();
    if (this.lease === undefined) throw fail('ObjectNotFound', 'no lease');
    return this.lease;
  }

  async create(_resource: unknown, lease: Lease): Promise<Lease> {
    await this.#answer();
    if (this.lease !== undefined) throw fail('Conflict', 'exists');
    return this.#late(this.#store(lease));
  }

  async replace(_resource: unknown, lease: Lease): Promise<Lease> {
    await this.#answer();
    if (lease.metadata.resourceVersion !== this.lease?.metadata.resourceVersion) {
      throw fail('Conflict', 'somebody was faster');
    }
    return this.#late(this.#store(lease));
  }

  async #late(stored: Lease): Promise<Lease> {
    const { answerMs } = this;
    if (answerMs > 0) await new Promise((resolve) => setTimeout(resolve, answerMs));
    return stored;
  }

  /** Another process takes the Lease, whatever its state. */
  steal(holder: string): void {
    this.#store({
      metadata: { name: 'l', namespace: 'n' },
      spec: { ...this.lease?.spec, holderIdentity: holder },
    });
  }

  #store(lease: Lease): Lease {
    this.#version += 1;
    this.lease = {
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: String(this.#version) },
    };
    this.writes.push(lease.spec?.holderIdentity ?? '');
    return this.lease;
  }

  async #answer(): Promise<void> {
    if (this.hanging) await new Promise(() => undefined);
    if (this.away) throw fail('ApiUnavailable', 'connection refused');
    if (this.forbids !== undefined) throw fail('ApiForbidden', this.forbids);
  }
}

const QUIET = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const warned: unknown[] = [];

interface Replica {
  leads: boolean;
  terms: number;
  leadership: Leadership | undefined;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

function aReplica(api: LeaseApi, identity: string): Replica {
  const stop = new AbortController();
  const replica: { -readonly [K in keyof Replica]: Replica[K] } = {
    leads: false,
    terms: 0,
    leadership: undefined,
    stop,
    ended: Promise.resolve(),
  };
  replica.ended = runForLeader(
    {
      api,
      namespace: 'n',
      name: 'l',
      identity,
      leaseMs: 15_000,
      renewDeadlineMs: 10_000,
      retryMs: 2_000,
      log: { ...QUIET, warn: (fields) => warned.push(fields) },
    },
    (leadership) =>
      new Promise((resolve) => {
        replica.leads = true;
        replica.terms += 1;
        replica.leadership = leadership;
        leadership.signal.addEventListener('abort', () => {
          replica.leads = false;
          resolve();
        });
      }),
    stop.signal,
  );
  return replica;
}

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

const replicas: Replica[] = [];
const startReplica = (api: LeaseApi, identity: string): Replica => {
  const replica = aReplica(api, identity);
  replicas.push(replica);
  return replica;
};

beforeEach(() => {
  jest.useFakeTimers();
  warned.length = 0;
});

afterEach(async () => {
  for (const { stop } of replicas.splice(0)) stop.abort();
  await pass(60_000);
  jest.useRealTimers();
});

it('says once why the API server refuses every leader, and leads as soon as it allows one', async () => {
  const server = new LeaseServer();
  server.forbids = 'leases.coordination.k8s.io is forbidden';
  const replica = startReplica(server, 'a');

  await pass(30_000);
  expect(replica.leads).toBe(false);
  expect(warned).toEqual([{ reason: server.forbids }]);
  server.forbids = undefined;
  await pass(3_000);

  expect(replica.leads).toBe(true);
  expect(warned).toHaveLength(1);
});

it('leads at once when there is no leader, and keeps the Lease', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');

  await pass(60_000);

  expect(replica).toMatchObject({ leads: true, terms: 1 });
  expect(server.writes.length).toBeGreaterThan(25);
});

it('lets one of two lead', async () => {
  const server = new LeaseServer();
  const a = startReplica(server, 'a');
  const b = startReplica(server, 'b');

  await pass(120_000);

  expect([a.leads, b.leads].filter(Boolean)).toHaveLength(1);
  expect(a.terms + b.terms).toBe(1);
});

it('hands over within one check when the leader stops in order', async () => {
  const server = new LeaseServer();
  const a = startReplica(server, 'a');
  await pass(0);
  const b = startReplica(server, 'b');
  await pass(5_000);

  a.stop.abort();
  await a.ended;
  await pass(2_000);

  expect(b.leads).toBe(true);
});

it('takes over from a leader that died, but not before its lease has run out', async () => {
  const server = new LeaseServer();
  server.steal('dead');
  const replica = startReplica(server, 'a');

  await pass(14_000);
  expect(replica.leads).toBe(false);
  await pass(4_000);

  expect(replica.leads).toBe(true);
});

it('stops before another may take over when the API server goes away', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(10_000);

  server.away = true;
  await pass(8_000);
  expect(replica.leads).toBe(true);
  await pass(6_000);

  expect(replica.leads).toBe(false);
});

it('stops in time when renewals hang instead of failing', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(10_000);

  server.hanging = true;
  await pass(14_000);

  expect(replica.leads).toBe(false);
});

it('stops in time when renewals first fail and then hang', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(10_000);

  server.away = true;
  await pass(8_500);
  server.hanging = true;
  await pass(5_500);

  expect(replica.leads).toBe(false);
});

it('stops at once when somebody else holds the lease', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(5_000);

  server.steal('b');
  await pass(2_000);

  expect(replica.leads).toBe(false);
});

it('leads again when the API server is back and the lease is free', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(5_000);
  server.away = true;
  await pass(20_000);

  server.away = false;
  await pass(4_000);

  expect(replica).toMatchObject({ leads: true, terms: 2 });
});

it('survives a conflict about its own lease', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(5_000);

  server.steal('a');
  await pass(6_000);

  expect(replica).toMatchObject({ leads: true, terms: 1 });
});

it('does not lead by a lease whose answer came too late', async () => {
  const server = new LeaseServer();
  server.answerMs = 12_000;
  const replica = startReplica(server, 'a');

  await pass(60_000);

  expect(server.writes.length).toBeGreaterThan(1);
  expect(replica.terms).toBe(0);
  server.answerMs = 0;
  await pass(20_000);
  expect(replica.leads).toBe(true);
});

it('counts from when it asked for the lease, not from the answer', async () => {
  const server = new LeaseServer();
  server.answerMs = 7_000;
  const replica = startReplica(server, 'a');
  await pass(7_500);
  expect(replica.leads).toBe(true);

  server.away = true;
  await pass(5_000);

  expect(replica.leads).toBe(false);
});

it('counts a renewal from when it asked for it, too', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(1_000);
  // Requested at 2 s, and answered at 9 s.
  server.answerMs = 7_000;
  await pass(2_000);
  server.away = true;
  await pass(8_000);
  expect(replica.leads).toBe(true);

  await pass(2_500);

  expect(replica.leads).toBe(false);
});

it('is over by the clock, also before any timer of a process that stood still has run', async () => {
  const server = new LeaseServer();
  const replica = startReplica(server, 'a');
  await pass(5_000);
  replica.leadership?.throwIfOver();

  const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 10_500);

  expect(() => replica.leadership?.throwIfOver()).toThrow('not renewed for');
  // The leadership ends first, so that no holder takes the refused write for a failure of its own.
  expect(replica.leadership?.signal.aborted).toBe(true);
  now.mockRestore();
});
