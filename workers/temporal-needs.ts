/** What Slipway needs of Temporal before it can run there: a namespace, and search attributes in it. */

import { isGrpcServiceError, type ConnectionLike } from '@temporalio/client';
import { SEARCH_ATTRIBUTE } from '../workflows/search-attributes';

/** What makes them. */
export const SETUP_COMMAND = 'slipway setup temporal';

/** What answers questions about a namespace. */
export type Asked = Pick<ConnectionLike, 'workflowService' | 'withDeadline'>;

/** gRPC status codes. */
export const STATUS = { INVALID_ARGUMENT: 3, NOT_FOUND: 5 } as const;

const ANSWER_MS = 10_000;

/**
 * What is missing, in words: `the namespace slipway`, `the search attribute SlipwayPool`. Asks as Slipway's
 * own queries do, so that what is not usable yet counts as missing.
 *
 * @throws what the call throws when Temporal does not answer, or refuses to
 */
export async function missingInTemporal(
  connection: Asked,
  namespace: string,
): Promise<readonly string[]> {
  const names = Object.values(SEARCH_ATTRIBUTE).map(({ name }) => name);
  if (!(await exists(connection, namespace))) return [`the namespace ${namespace}`];
  if (await answers(connection, namespace, names)) return [];
  const found = await Promise.all(
    names.map(async (name) => [name, await answers(connection, namespace, [name])] as const),
  );
  return found.filter(([, isThere]) => !isThere).map(([name]) => `the search attribute ${name}`);
}

/** One sentence: what is missing, and what makes it. */
export function needsSetup(address: string, missing: readonly string[]): string {
  return `Temporal at ${address} lacks ${missing.join(', ')}: run ${SETUP_COMMAND}`;
}

async function exists(connection: Asked, namespace: string): Promise<boolean> {
  return unless(STATUS.NOT_FOUND, connection, () =>
    connection.workflowService.describeNamespace({ namespace }),
  );
}

/** Whether a query over these search attributes is one. */
async function answers(
  connection: Asked,
  namespace: string,
  names: readonly string[],
): Promise<boolean> {
  const query = names.map((name) => `${name} = 'none'`).join(' OR ');
  return unless(STATUS.INVALID_ARGUMENT, connection, () =>
    connection.workflowService.countWorkflowExecutions({ namespace, query }),
  );
}

/** False when the answer is this refusal. */
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

/** The gRPC status of a call that failed; undefined for anything else. */
export function statusOf(error: unknown): number | undefined {
  return isGrpcServiceError(error) ? error.code : undefined;
}

/** Whether Temporal refused a query or a start for a search attribute that it does not know. */
export function isOfSearchAttributes(details: string): boolean {
  return Object.values(SEARCH_ATTRIBUTE).some(({ name }) => details.includes(name));
}
