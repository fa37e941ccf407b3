/**
 * Keeps the pinned images of the pool on this machine: asks the server which, and pulls those that are
 * missing, one after the other, also while an update runs.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { backoffMs } from '../../core/backoff';
import { printableWithin } from '../../core/drift';
import { failureName, fail, messageOf } from '../../core/errors';
import { fewSentences } from '../../core/few';
import { type PinnedImages, type PinnedReport, PROBLEM_LIMIT } from '../../core/pinned-images';
import { retryAfterOf } from '../drift/news';
import type { Log } from '../log';

interface Room {
  readonly free: number;
  readonly total: number;
}

export interface PinnedPorts {
  readonly node: string;
  /** @throws `ConfigFetchFailed` (`details.retryAfter`, seconds) */
  ask(report: PinnedReport, signal: AbortSignal): Promise<PinnedImages | undefined>;
  has(image: string, signal: AbortSignal): Promise<boolean>;
  /** Compressed; undefined = not known before the pull. */
  bytes(image: string, signal: AbortSignal): Promise<number | undefined>;
  /** @throws `PullFailed`, `OsCommandFailed` */
  pull(image: string, signal: AbortSignal): Promise<void>;
  /** Of the file system of the images, in bytes. */
  room(): Promise<Room>;
  /** Those that are there, and no others. @throws `OsCommandFailed` */
  pin(images: readonly string[], signal: AbortSignal): Promise<void>;
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
/** Of the file system, after a pull: at 85 % used the kubelet begins to delete images. */
const LEAST_FREE = 0.2;
/** Times the compressed size: packed and unpacked. */
const UNPACKING = 3;
const MIB = 1024 * 1024;

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
      if (problem !== 'pulled') continue;
      problems.add(await this.#pin(images));
      // Others are wanted by now.
      if (await this.#ask()) return this.#pullMissing();
    }
    problems.add(await this.#pin(images));
    problems.delete('');
    const text = printableWithin(fewSentences([...problems]), PROBLEM_LIMIT);
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
      const full = await this.#noRoom(image);
      if (full !== undefined) return full;
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

  async #noRoom(image: string): Promise<string | undefined> {
    const bytes = (await this.#ports.bytes(image, this.#options.signal)) ?? 0;
    const { free, total } = await this.#ports.room();
    const needed = UNPACKING * bytes + LEAST_FREE * total;
    return free < needed ? noRoom(image, { free, needed, bytes }) : undefined;
  }

  /** Or why the kubelet may delete them; empty = they are pinned. */
  async #pin(images: readonly string[]): Promise<string> {
    const { signal, log } = this.#options;
    const { node } = this.#ports;
    if (this.#wanted === undefined) return '';
    try {
      await this.#ports.pin(images, signal);
      return '';
    } catch (error) {
      if (signal.aborted || failureName(error) === undefined) throw error;
      // Most machines have none, and then it is of no interest.
      const level = images.length === 0 ? 'debug' : 'warn';
      log[level]({ node, reason: messageOf(error) }, 'images were not pinned');
      return `images are not pinned: ${messageOf(error)}`;
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

interface Lack {
  readonly free: number;
  readonly needed: number;
  readonly bytes: number;
}

function noRoom(image: string, { free, needed, bytes }: Lack): string {
  const mib = (amount: number): string => `${Math.ceil(amount / MIB)} MiB`;
  const own = bytes === 0 ? '' : `${UNPACKING} times its ${mib(bytes)}, and `;
  return (
    `image ${image} is not pulled: the file system of the images has ${mib(free)} free and needs ` +
    `${mib(needed)} (${own}${LEAST_FREE * 100} % that stay free); make room, or unpin images`
  );
}

/** Ends early on abort; keeps no process alive. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}
