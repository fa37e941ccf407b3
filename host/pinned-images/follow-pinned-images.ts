/**
 * Keeps the pinned images of the pool on this machine: asks the server which, and pulls those that are
 * missing, one after the other, also while an update runs.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../core/backoff';
import { printableWithin } from '../../core/drift';
import { failureName, fail, messageOf } from '../../core/errors';
import { type PinnedImages, type PinnedReport, PROBLEM_LIMIT } from '../../core/pinned-images';
import { retryAfterOf } from '../drift/news';
import type { Log } from '../log';

export interface PinnedPorts {
  readonly node: string;
  /** @throws `ConfigFetchFailed` (`details.retryAfter`, seconds) */
  ask(report: PinnedReport, signal: AbortSignal): Promise<PinnedImages | undefined>;
  has(image: string, signal: AbortSignal): Promise<boolean>;
  /** @throws `PullFailed`, `OsCommandFailed` */
  pull(image: string, signal: AbortSignal): Promise<void>;
  /** Of the file system of the images: from 0 to 1. */
  freePart(): Promise<number>;
}

interface PinnedOptions {
  readonly signal: AbortSignal;
  readonly log: Omit<Log, 'error'>;
  /** In ms; ends early on abort. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
  /** From 0 to 1; spreads the work of many hosts. */
  readonly random?: () => number;
}

/** Two questions of one host, when nothing is missing. */
const POLL_MS = 180_000;
/** After a question without an answer, or an image that could not be pulled. */
const RETRY = { firstMs: 10_000, maxMs: 300_000 };
/** At 85 % the kubelet begins to delete images. */
const LEAST_FREE = 0.2;

/** Until the signal aborts. Failures are logged, reported and retried. */
export async function followPinnedImages(
  ports: PinnedPorts,
  options: PinnedOptions,
): Promise<void> {
  await new PinnedFollower(ports, options).run();
}

class PinnedFollower {
  readonly #ports: PinnedPorts;
  readonly #options: PinnedOptions;
  #wanted: PinnedImages | undefined;
  #present = 0;
  #problem: string | undefined;
  /** The last report that the server got, as text. */
  #told = '';
  #failures = 0;

  constructor(ports: PinnedPorts, options: PinnedOptions) {
    this.#ports = ports;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      const wait = await this.#round();
      const random = this.#options.random ?? Math.random;
      await (this.#options.pause ?? pause)(wait * (0.5 + 0.5 * random()), signal);
    }
  }

  /** @returns the time until the next one */
  async #round(): Promise<number> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    try {
      await this.#ask();
      await this.#pullMissing();
      this.#failures = 0;
      return POLL_MS;
    } catch (error) {
      if (signal.aborted) return 0;
      if (failureName(error) === undefined) throw error;
      this.#failures += 1;
      const reason = messageOf(error);
      log.debug({ node, reason }, 'pinned images are not followed; will try again');
      return Math.max(backoffMs(RETRY, this.#failures), retryAfterOf(error));
    }
  }

  /** Tells the server at the beginning, after each image, and what is wrong. */
  async #ask(): Promise<boolean> {
    const { signal, log } = this.#options;
    const report = this.#report();
    const given = await this.#ports.ask(report, signal);
    this.#told = JSON.stringify(report);
    if (given === undefined || given.digest === this.#wanted?.digest) return false;
    const { node } = this.#ports;
    log.info({ node, pool: given.pool, images: given.images.length }, 'pinned images received');
    [this.#wanted, this.#present, this.#problem] = [given, 0, undefined];
    return true;
  }

  async #pullMissing(): Promise<void> {
    const { signal } = this.#options;
    const images = this.#wanted?.images ?? [];
    this.#present = 0;
    const problems = new Set<string>();
    for (const image of images) {
      const problem = await this.#have(image);
      signal.throwIfAborted();
      if (problem === 'there' || problem === 'pulled') this.#present += 1;
      else problems.add(problem);
      // Others are wanted by now.
      if (problem === 'pulled' && (await this.#ask())) return this.#pullMissing();
    }
    const text = printableWithin([...problems].join('; '), PROBLEM_LIMIT);
    this.#problem = text === '' ? undefined : text;
    const isNews = JSON.stringify(this.#report()) !== this.#told;
    if (isNews && (await this.#ask())) return this.#pullMissing();
    const [first] = problems;
    if (first !== undefined) throw fail('PullFailed', first);
  }

  /** Or why it is not there. */
  async #have(image: string): Promise<string> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    try {
      if (await this.#ports.has(image, signal)) return 'there';
      const free = await this.#ports.freePart();
      if (free < LEAST_FREE) return noRoom(image, free);
      log.info({ node, image }, 'pulling a pinned image');
      await this.#ports.pull(image, signal);
      log.info({ node, image }, 'pulled a pinned image');
      return 'pulled';
    } catch (error) {
      if (signal.aborted || failureName(error) === undefined) throw error;
      log.warn({ node, image, reason: messageOf(error) }, 'a pinned image was not pulled');
      return messageOf(error);
    }
  }

  #report(): PinnedReport {
    return {
      ...(this.#wanted === undefined ? {} : { given: this.#wanted.digest }),
      present: this.#present,
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }
}

function noRoom(image: string, free: number): string {
  const percent = (part: number): number => Math.floor(part * 100);
  return (
    `image ${image} is not pulled: ${percent(free)} % of the file system of the images are free, ` +
    `and ${percent(LEAST_FREE)} % are needed; make room, or unpin images`
  );
}

/** Ends early on abort; keeps no process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
