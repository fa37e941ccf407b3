/**
 * Leader election by a `Lease`. The leader's signal aborts when the lease is lost, or so old that
 * another replica may soon take it. A lease counts from the time of its request.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { failureName, messageOf } from '../core/errors';
import { LEASES, type Lease } from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import { unlessAbsent } from '../adapters/kube/unless-absent';

export interface LeaseApi {
  get(resource: typeof LEASES, key: LeaseKey, signal?: AbortSignal): Promise<Lease>;
  create(resource: typeof LEASES, lease: Lease): Promise<Lease>;
  replace(resource: typeof LEASES, lease: Lease): Promise<Lease>;
}

interface LeaseKey {
  readonly namespace: string;
  readonly name: string;
}

interface LeaderOptions {
  readonly api: LeaseApi;
  readonly namespace: string;
  readonly name: string;
  /** Unique, and constant for one process. */
  readonly identity: string;
  /** Then another replica may take the lease. */
  readonly leaseMs: number;
  /** The leader stops when it could not renew for this long; less than `leaseMs`. */
  readonly renewDeadlineMs: number;
  /** Interval of renewals and attempts. */
  readonly retryMs: number;
  readonly log: Log;
  /** Called when the namespace of the lease does not exist. */
  readonly createNamespace?: () => Promise<void>;
}

export interface Leadership {
  readonly signal: AbortSignal;
  /**
   * Checks the clock: a resumed process may write before its timers fire.
   *
   * @throws the reason of the loss
   */
  throwIfOver(): void;
}

/**
 * Until `signal` aborts. On each win `lead` runs with a leadership that ends at the loss; the
 * election goes on when `lead` has returned.
 */
export async function runForLeader(
  options: LeaderOptions,
  lead: (leadership: Leadership) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const candidate = new Candidate(options);
  while (!signal.aborted) {
    if (await candidate.tryToLead()) await leadOnce(candidate, options, lead, signal);
    else await pause(options.retryMs, signal);
  }
}

async function leadOnce(
  candidate: Candidate,
  options: LeaderOptions,
  lead: (leadership: Leadership) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { log, identity } = options;
  const lost = new AbortController();
  const leading = AbortSignal.any([signal, lost.signal]);
  log.info({ identity }, 'became leader');
  const end = (reason: string): void => {
    if (leading.aborted) return;
    log.warn({ identity, reason }, 'lost the lease; every write stops');
    lost.abort(new Error(`lost the lease: ${reason}`));
  };
  const throwIfOver = (): void => {
    const stale = candidate.staleness();
    // Ends here, so that the refused write is not reported as a failure.
    if (stale !== undefined) end(stale);
    leading.throwIfAborted();
  };
  const work = lead({ signal: leading, throwIfOver })
    .catch((error: unknown) => {
      log.error({ err: error }, 'leading failed; releasing the lease');
    })
    .finally(() => {
      lost.abort(new Error('nothing left to lead'));
    });
  end(await candidate.keep(leading));
  await work;
  await candidate.giveBack();
}

class Candidate {
  readonly #options: LeaderOptions;
  /** `at`: when this process first saw it, by the local clock. */
  #seen: { readonly lease: Lease; readonly version: string; readonly at: number } | undefined;
  #waitingFor: string | undefined;
  #refused: string | undefined;
  /** When the last successful write was sent, by the local clock. */
  #renewedAt = -Infinity;

  constructor(options: LeaderOptions) {
    this.#options = options;
  }

  /**
   * Never throws. False also when the answer came so late that another replica may soon take the
   * lease.
   */
  async tryToLead(): Promise<boolean> {
    try {
      const lease = await this.#read();
      if (lease !== undefined && !this.#isFree(lease)) {
        this.#refused = undefined;
        this.#tellHolder(lease);
        return false;
      }
      const sentAt = performance.now();
      const taken = lease === undefined ? this.#create() : this.#replace(lease, this.#taken(lease));
      this.#remember(await within(this.#options.renewDeadlineMs, taken));
      this.#renewedAt = sentAt;
      const stale = this.staleness();
      if (stale !== undefined) throw new Error(`the lease came too late: ${stale}`);
      this.#refused = undefined;
      return true;
    } catch (error) {
      this.#tellFailure(error);
      return false;
    }
  }

  /** A faster replica is not worth a log line; the client reports an absent API server. */
  #tellFailure(error: unknown): void {
    const { log } = this.#options;
    const reason = messageOf(error);
    const isRefused = ['ApiForbidden', 'ApiRefused'].includes(failureName(error) ?? '');
    if (!isRefused || reason === this.#refused) {
      log.debug({ reason }, 'did not get the lease');
      return;
    }
    this.#refused = reason;
    log.warn({ reason }, 'the API server refuses the lease; this process cannot lead');
  }

  /** Undefined = renewed in time. */
  staleness(): string | undefined {
    const ageMs = performance.now() - this.#renewedAt;
    if (ageMs < this.#options.renewDeadlineMs) return undefined;
    return `not renewed for ${Math.round(ageMs)} ms`;
  }

  /** Until the signal aborts or the lease is lost; returns the reason. */
  async keep(leading: AbortSignal): Promise<string> {
    const { renewDeadlineMs, retryMs } = this.#options;
    let failed = 'the answer came late';
    for (;;) {
      await pause(retryMs, leading);
      if (leading.aborted) return 'stopped';
      const sentAt = performance.now();
      const remainingMs = renewDeadlineMs - (sentAt - this.#renewedAt);
      if (remainingMs <= 0) return `not renewed for ${renewDeadlineMs} ms (${failed})`;
      const failure = await this.#renew(remainingMs);
      if (failure?.final === true) return failure.reason;
      if (failure === undefined) this.#renewedAt = sentAt;
      else failed = failure.reason;
    }
  }

  /** Releases the lease, if this process still holds it. */
  async giveBack(): Promise<void> {
    const seen = this.#seen;
    if (seen?.lease.spec?.holderIdentity !== this.#options.identity) return;
    try {
      const spec = { ...seen.lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
      this.#remember(await this.#replace(seen.lease, spec));
    } catch (error) {
      this.#options.log.debug({ reason: messageOf(error) }, 'did not release the lease');
      this.#seen = undefined;
    }
  }

  /** Abandoned at the deadline, so that a hanging request cannot hide the loss. */
  async #renew(
    remainingMs: number,
  ): Promise<{ readonly final: boolean; readonly reason: string } | undefined> {
    const { identity } = this.#options;
    const seen = this.#seen;
    try {
      const renewed = { ...seen?.lease.spec, renewTime: microTime() };
      this.#remember(await within(remainingMs, this.#replace(seen?.lease, renewed)));
      return undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (failureName(error) !== 'Conflict' && failureName(error) !== 'ObjectNotFound') {
        return { final: false, reason };
      }
      const lease = await within(remainingMs, this.#read()).catch(() => undefined);
      const holder = lease?.spec?.holderIdentity;
      if (holder === identity) return { final: false, reason };
      return { final: true, reason: holder ? `${holder} holds it` : 'it was deleted or released' };
    }
  }

  async #read(): Promise<Lease | undefined> {
    const { api, namespace, name } = this.#options;
    const lease = await unlessAbsent(api.get(LEASES, { namespace, name }));
    if (lease !== undefined) this.#remember(lease);
    return lease;
  }

  async #create(): Promise<Lease> {
    const { api, namespace, name, createNamespace } = this.#options;
    const lease: Lease = { metadata: { name, namespace }, spec: this.#taken(undefined) };
    try {
      return await api.create(LEASES, lease);
    } catch (error) {
      if (failureName(error) !== 'ObjectNotFound' || createNamespace === undefined) throw error;
      await createNamespace();
      return api.create(LEASES, lease);
    }
  }

  async #replace(lease: Lease | undefined, spec: NonNullable<Lease['spec']>): Promise<Lease> {
    const { api, namespace, name } = this.#options;
    return api.replace(LEASES, { metadata: lease?.metadata ?? { name, namespace }, spec });
  }

  #taken(lease: Lease | undefined): NonNullable<Lease['spec']> {
    const { identity, leaseMs } = this.#options;
    const now = microTime();
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(leaseMs / 1000),
      acquireTime: now,
      renewTime: now,
      leaseTransitions: (lease?.spec?.leaseTransitions ?? -1) + 1,
    };
  }

  /**
   * Released, held by this identity, or unchanged for its duration by the local clock, because
   * clocks of machines differ.
   */
  #isFree(lease: Lease): boolean {
    const { identity, leaseMs } = this.#options;
    const holder = lease.spec?.holderIdentity ?? '';
    if (holder === '' || holder === identity) return true;
    return this.#seen !== undefined && performance.now() - this.#seen.at > leaseMs;
  }

  #remember(lease: Lease): void {
    const version = lease.metadata.resourceVersion ?? '';
    if (this.#seen?.version === version) return;
    this.#seen = { lease, version, at: performance.now() };
  }

  #tellHolder(lease: Lease): void {
    const holder = lease.spec?.holderIdentity;
    if (holder === undefined || holder === this.#waitingFor) return;
    this.#waitingFor = holder;
    this.#options.log.info({ holder }, 'another replica leads; standing by');
  }
}

/** RFC 3339 with microseconds, as in Lease. */
function microTime(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

function within<T>(limitMs: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error('no answer in time'));
    }, limitMs);
    promise.then(resolve, reject).finally(() => {
      clearTimeout(timer);
    });
  });
}

async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await delay(delayMs, undefined, { signal }).catch(() => undefined);
}
