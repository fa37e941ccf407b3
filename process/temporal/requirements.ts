/** Slipway needs a namespace with search attributes. */

import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../core/errors';
import type { Logger } from '../logging';
import { type Asked, isSilence } from './contact';

export const SETUP_COMMAND = 'slipway setup temporal';

export const STATUS = { INVALID_ARGUMENT: 3, NOT_FOUND: 5 } as const;

const ANSWER_MS = 10_000;
const LOOK_MS = 5_000;

interface RequirementsOptions {
  readonly address: string;
  readonly namespace: string;
  readonly searchAttributes: readonly string[];
  readonly log: Logger;
}

export class TemporalRequirements {
  readonly #connection: Asked;
  readonly #options: RequirementsOptions;
  #missing: string | undefined;

  constructor(connection: Asked, options: RequirementsOptions) {
    this.#connection = connection;
    this.#options = options;
  }

  waitingFor(): readonly string[] {
    return this.#missing === undefined ? [] : [this.#missing];
  }

  /** Rejects when the signal aborts. */
  async untilMet(signal: AbortSignal): Promise<void> {
    for (;;) {
      signal.throwIfAborted();
      const missing = await this.#look();
      if (missing !== undefined) this.#tell(missing);
      if (missing?.length === 0) return;
      await delay(LOOK_MS, undefined, { signal });
    }
  }

  /**
   * undefined = Temporal does not answer. Without permission to ask, the process continues:
   * everything may exist.
   */
  async #look(): Promise<readonly string[] | undefined> {
    const { namespace, searchAttributes, log } = this.#options;
    let isNamespaceThere = false;
    try {
      if (!(await hasNamespace(this.#connection, namespace))) return [`the namespace ${namespace}`];
      isNamespaceThere = true;
      return await missingAttributes(this.#connection, namespace, searchAttributes);
    } catch (error) {
      // Visibility alone may be absent; the work goes on without it.
      if (isSilence(error) && !isNamespaceThere) return undefined;
      log.warn({ reason: messageOf(error) }, 'cannot check what is missing in Temporal');
      return [];
    }
  }

  #tell(missing: readonly string[]): void {
    const { address, log } = this.#options;
    const said =
      missing.length === 0
        ? undefined
        : `${missing.join(', ')} in Temporal at ${address} (run ${SETUP_COMMAND})`;
    if (said === this.#missing) return;
    this.#missing = said;
    if (said === undefined) log.info({}, 'Temporal has everything that was missing');
    else log.warn({ missing }, `missing in Temporal at ${address}: run ${SETUP_COMMAND}`);
  }
}

/**
 * In words: `the namespace slipway`, `the search attribute SlipwayPool`.
 *
 * @throws the error of the call when Temporal does not answer, or refuses
 */
export async function missingInTemporal(
  connection: Asked,
  namespace: string,
  searchAttributes: readonly string[],
): Promise<readonly string[]> {
  if (!(await hasNamespace(connection, namespace))) return [`the namespace ${namespace}`];
  return missingAttributes(connection, namespace, searchAttributes);
}

async function hasNamespace(connection: Asked, namespace: string): Promise<boolean> {
  return unless(STATUS.NOT_FOUND, connection, () =>
    connection.workflowService.describeNamespace({ namespace }),
  );
}

/** Queries like Slipway itself: an attribute that is not usable yet counts as missing. */
async function missingAttributes(
  connection: Asked,
  namespace: string,
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0 || (await isAnswered(connection, namespace, names))) return [];
  const found = await Promise.all(
    names.map(async (name) => [name, await isAnswered(connection, namespace, [name])] as const),
  );
  return found.filter(([, isThere]) => !isThere).map(([name]) => `the search attribute ${name}`);
}

async function isAnswered(
  connection: Asked,
  namespace: string,
  names: readonly string[],
): Promise<boolean> {
  const query = names.map((name) => `${name} = 'none'`).join(' OR ');
  return unless(STATUS.INVALID_ARGUMENT, connection, () =>
    connection.workflowService.countWorkflowExecutions({ namespace, query }),
  );
}

/** False when the answer has this code. */
async function unless(
  code: number,
  connection: Asked,
  ask: () => Promise<unknown>,
): Promise<boolean> {
  try {
    await connection.withDeadline(Date.now() + ANSWER_MS, ask);
    return true;
  } catch (error) {
    if (statusOf(error) === code) return false;
    throw error;
  }
}

/** The gRPC status of a failed call. */
export function statusOf(error: unknown): number | undefined {
  const hasCode = typeof error === 'object' && error !== null && 'code' in error;
  return hasCode && typeof error.code === 'number' ? error.code : undefined;
}
