/** Connections to Temporal, for the controllers and the cluster worker. They wait when it is away. */

import { readFileSync } from 'node:fs';
import { Client, Connection, WorkflowNotFoundError, type TLSConfig } from '@temporalio/client';
import { fail, messageOf } from '../core/errors';
import { updateNodeId } from '../core/names';
import { SEARCH_ATTRIBUTE } from '../workflows/search-attributes';
import type { TemporalSettings } from './config';
import type { Logger } from './logging';
import { untilAvailable } from './waiting';

/** What a connection needs, whether for a client or for a worker. */
export interface ConnectionOptions {
  readonly address: string;
  readonly tls?: TLSConfig | true;
  readonly apiKey?: string;
}

/** Reads the certificates that the settings name. @throws an `Error` that names the file */
export function connectionOptions(settings: TemporalSettings): ConnectionOptions {
  const { temporalTlsCa, temporalTlsCert, temporalTlsKey, temporalTlsServerName } = settings;
  const tls: TLSConfig = {
    ...(temporalTlsCa === undefined
      ? {}
      : { serverRootCACertificate: readPem('temporalTlsCa', temporalTlsCa) }),
    ...(temporalTlsCert === undefined || temporalTlsKey === undefined
      ? {}
      : {
          clientCertPair: {
            crt: readPem('temporalTlsCert', temporalTlsCert),
            key: readPem('temporalTlsKey', temporalTlsKey),
          },
        }),
    ...(temporalTlsServerName === undefined ? {} : { serverNameOverride: temporalTlsServerName }),
  };
  const apiKey = settings.temporalApiKey;
  const hasTls = Object.keys(tls).length > 0;
  return {
    address: settings.temporalAddress,
    ...(hasTls ? { tls } : apiKey === undefined ? {} : { tls: true }),
    ...(apiKey === undefined ? {} : { apiKey }),
  };
}

/**
 * A client for the namespace of the settings. Waits for a server that is away; afterwards the
 * connection mends itself.
 */
export async function connectTemporal(
  settings: TemporalSettings,
  options: { readonly log: Logger; readonly signal: AbortSignal; readonly identity?: string },
): Promise<Client> {
  const target = connectionOptions(settings);
  const connection = await untilAvailable(
    `Temporal at ${target.address}`,
    () => Connection.connect({ ...target, connectTimeout: '5s' }),
    options,
  );
  return new Client({
    connection,
    namespace: settings.temporalNamespace,
    ...(options.identity === undefined ? {} : { identity: options.identity }),
  });
}

/** Whether a workflow with this status will go on: a paused one will, when a person lets it. */
export function isOpenStatus(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}

/** Which node updates are open. */
export class OpenUpdates {
  constructor(readonly client: Client) {}

  /** @throws `TemporalUnavailable` */
  async isRunning(node: string): Promise<boolean> {
    return (await this.openRun(node)) !== undefined;
  }

  /** @throws `TemporalUnavailable` */
  async isOpen(node: string, runId: string): Promise<boolean> {
    return (await this.openRun(node)) === runId;
  }

  /** The latest run, which is the only one that can be open. */
  private async openRun(node: string): Promise<string | undefined> {
    try {
      const update = this.client.workflow.getHandle(updateNodeId(node));
      const { status, runId } = await update.describe();
      return isOpenStatus(status.name) ? runId : undefined;
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return undefined;
      throw unavailable(error);
    }
  }

  /**
   * Those of a pool, from Temporal's visibility: an update that has just begun or ended may be shown
   * late. Open is what has not closed; a paused one is not `Running`.
   *
   * @throws `TemporalUnavailable`
   */
  async ofPool(pool: string): Promise<readonly string[]> {
    const query = `WorkflowType = 'updateNode' AND CloseTime IS NULL AND ${SEARCH_ATTRIBUTE.pool.name} = '${pool.replaceAll("'", '')}'`;
    const nodes: string[] = [];
    try {
      for await (const { workflowId } of this.client.workflow.list({ query })) {
        const prefix = updateNodeId('');
        if (workflowId.startsWith(prefix)) nodes.push(workflowId.slice(prefix.length));
      }
    } catch (error) {
      throw unavailable(error);
    }
    return nodes;
  }
}

function unavailable(error: unknown): Error {
  return fail('TemporalUnavailable', `Temporal does not answer: ${messageOf(error)}`);
}

function readPem(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new Error(`${setting}: ${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
