/** The steps that updates wait for, as Temporal shows them. */

import { Client, Connection, ServiceError } from '@temporalio/client';
import { NamespaceNotFoundError, WorkflowNotFoundError } from '@temporalio/common';
import { dataConverter } from '../../../process/temporal/payload-codec';
import type { TemporalServer } from '../../../tools/temporal';
import { SEARCH_ATTRIBUTE } from '../../../workflows/contracts/search-attributes';

interface OpenUpdate {
  readonly config: string;
  /** Not completed. */
  readonly steps: readonly string[];
}

/** Undefined = no update runs, it decides its next step, or Temporal does not answer. */
export type UpdateOf = (node: string) => Promise<OpenUpdate | undefined>;

/** No update yet; Temporal is absent; an empty server has replaced it. */
const UNKNOWN = [WorkflowNotFoundError, ServiceError, NamespaceNotFoundError];
/** A frozen server counts as absent. */
const PATIENCE_MS = 2_000;

export async function withOrders<T>(
  {
    address,
    namespace,
    payloadKeys,
  }: Pick<TemporalServer, 'address' | 'namespace' | 'payloadKeys'>,
  work: (updateOf: UpdateOf) => Promise<T>,
): Promise<T> {
  const connection = Connection.lazy({ address });
  const client = new Client({
    ...{ connection, namespace },
    dataConverter: dataConverter(payloadKeys?.codec),
  });
  const updateOf: UpdateOf = (node) => openUpdate(client, connection, node);
  try {
    // Connect first: that takes longer than a short phase.
    await updateOf('nobody');
    return await work(updateOf);
  } finally {
    await connection.close();
  }
}

async function openUpdate(
  client: Client,
  connection: Connection,
  node: string,
): Promise<OpenUpdate | undefined> {
  try {
    const update = client.workflow.getHandle(`update-node/${node}`);
    const { raw, status, typedSearchAttributes } = await connection.withDeadline(
      Date.now() + PATIENCE_MS,
      () => update.describe(),
    );
    const steps = (raw.pendingActivities ?? []).map(({ activityType }) => activityType?.name ?? '');
    const isDeciding = steps.length === 0 && raw.pendingWorkflowTask != null;
    if (status.name !== 'RUNNING' || isDeciding) return undefined;
    return { config: typedSearchAttributes.get(SEARCH_ATTRIBUTE.config) ?? '', steps };
  } catch (error) {
    if (UNKNOWN.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}
