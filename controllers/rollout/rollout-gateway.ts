import { Client, Connection, WorkflowNotFoundError } from '@temporalio/client';
import { FIELD_MANAGER, poolRolloutId } from '../../core/names';
import type { SeenVersions } from '../../workflows/contracts/rollout';
import { SEARCH_ATTRIBUTE_NAMES } from '../../workflows/contracts/search-attributes';
import type { TemporalSettings } from '../../process/settings';
import { dataConverter, payloadCodec } from '../../process/temporal/payload-codec';
import { PayloadKeyFiles } from '../../process/temporal/payload-keys';
import { RolloutWaker } from '../../process/temporal/rollout-waker';
import type { Logger } from '../../process/logging';
import { isOpenStatus } from '../../process/temporal/open-updates';
import { tellSilence, TemporalConnection } from '../../process/temporal/connection';
import {
  type ConnectionOptions,
  connectionOptions,
  firstConnectionOptions,
  RECONNECTS_SOON,
} from '../../process/temporal/connection-options';

export interface RolloutGateway {
  /**
   * Starts the rollout of the pool, or has the open one look again.
   *
   * @param versions - what it has to see at least
   */
  wake(pool: string, versions: SeenVersions): Promise<void>;
  /** Terminates a rollout that cannot go on, and does not count it as open. */
  isOpen(pool: string): Promise<boolean>;
}

const DEADLINE_MS = 10_000;

/**
 * Temporal retries for ever a task that fails by a bug, and one whose failure it does not take
 * because the task also carries a Workflow Update: such a rollout never ends by itself.
 */
const ATTEMPTS_OF_A_STUCK_TASK = 3;
const STUCK = 'its workflow task fails again and again; the next rollout takes over its nodes';

export interface RolloutConnection {
  readonly gateway: RolloutGateway;
  /** Reasons of `/readyz` to fail. */
  waitingFor(): readonly string[];
  /** Why `/healthz` fails; undefined = it succeeds. */
  deathSentence(): string | undefined;
  /** Logs when Temporal is absent or lacks something. */
  watch(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Connects with the first call, so that rendering never waits, and certificates are issued. */
export function connectRollouts(
  settings: TemporalSettings & { readonly payloadKeys?: string | undefined },
  log: Logger,
): RolloutConnection {
  const target = firstConnectionOptions(settings, log);
  const options = {
    address: settings.temporalAddress,
    namespace: settings.temporalNamespace,
    searchAttributes: SEARCH_ATTRIBUTE_NAMES,
    read: () => connectionOptions(settings),
    connect: (renewed: ConnectionOptions) => Connection.connect(patient(renewed)),
    log,
  };
  const link = new TemporalConnection(options, target, Connection.lazy(patient(target)));
  const { payloadKeys } = settings;
  // The leader makes their Secret, and the kubelet mounts it a minute later.
  const keys =
    payloadKeys === undefined
      ? undefined
      : new PayloadKeyFiles(payloadKeys, { log, mayCome: true });
  const client = new Client({
    connection: link,
    namespace: settings.temporalNamespace,
    identity: FIELD_MANAGER.CONTROLLERS,
    dataConverter: dataConverter(keys && payloadCodec(keys)),
  });
  return {
    gateway: createRolloutGateway(client),
    waitingFor: () => [...link.waitingFor(), ...(keys?.waitingFor() ?? [])],
    deathSentence: () => link.deathSentence(),
    watch: async (signal) => {
      const setUp = link.untilSetUp(signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      await Promise.all([link.watch(signal, tellSilence(target.address, log)), setUp]);
    },
    close: () => link.close(),
  };
}

function patient(target: ConnectionOptions) {
  return { ...target, connectTimeout: '5s' as const, channelArgs: RECONNECTS_SOON };
}

function createRolloutGateway(client: Client): RolloutGateway {
  const waker = new RolloutWaker(client.workflow);
  return {
    wake: (pool, versions) => waker.wake(pool, versions),
    isOpen: (pool) =>
      client.withDeadline(Date.now() + DEADLINE_MS, () => isOpen(client, poolRolloutId(pool))),
  };
}

async function isOpen({ workflow }: Client, workflowId: string): Promise<boolean> {
  try {
    const { status, raw, runId } = await workflow.getHandle(workflowId).describe();
    if (!isOpenStatus(status.name)) return false;
    if ((raw.pendingWorkflowTask?.attempt ?? 0) < ATTEMPTS_OF_A_STUCK_TASK) return true;
    await workflow.getHandle(workflowId, runId).terminate(STUCK);
    return false;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}
