import {
  Client,
  Connection,
  WorkflowNotFoundError,
  WorkflowUpdateFailedError,
} from '@temporalio/client';
import { fail, messageOf } from '../../core/errors';
import { FIELD_MANAGER, poolRolloutId } from '../../core/names';
import type { PictureVersions } from '../../workflows/contracts/cluster';
import { clusterChangedSignal, retargetUpdate, type ClusterNews } from '../../workflows/messages';
import { SEARCH_ATTRIBUTE_NAMES } from '../../workflows/contracts/search-attributes';
import type { TemporalSettings } from '../../process/settings';
import { startOrRetarget } from '../../process/temporal/start-rollout';
import type { Logger } from '../../process/logging';
import { isOpenStatus } from '../../process/temporal/open-updates';
import { tellSilence, TemporalConnection } from '../../process/temporal/connection';
import {
  type ConnectionOptions,
  connectionOptions,
} from '../../process/temporal/connection-options';

export interface RolloutGateway {
  /**
   * False = no rollout is open.
   *
   * @throws `RefusedRequest` when the open one is ending
   */
  retarget(pool: string, target: string, versions: PictureVersions): Promise<boolean>;
  /**
   * A rollout that was started meanwhile gets the target.
   *
   * @throws `RefusedRequest` when that one is ending
   */
  start(pool: string, target: string, versions: PictureVersions): Promise<void>;
  /** False = no rollout is open. */
  wake(pool: string, news: ClusterNews): Promise<boolean>;
  /** Terminates a rollout that cannot go on, and does not count it as open. */
  isOpen(pool: string): Promise<boolean>;
}

const DEADLINE_MS = 10_000;

/**
 * Temporal takes no failure of a workflow from a task that also carries a Workflow Update, but
 * retries it for ever: a rollout whose history does not fit may never end by itself.
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

/**
 * Connects with the first call, so that rendering never waits.
 *
 * @throws an `Error` that names a certificate file that cannot be read
 */
export function connectRollouts(settings: TemporalSettings, log: Logger): RolloutConnection {
  const target = connectionOptions(settings);
  const options = {
    address: settings.temporalAddress,
    namespace: settings.temporalNamespace,
    searchAttributes: SEARCH_ATTRIBUTE_NAMES,
    read: () => connectionOptions(settings),
    connect: (renewed: ConnectionOptions) => Connection.connect(patient(renewed)),
    log,
  };
  const link = new TemporalConnection(options, target, Connection.lazy(patient(target)));
  const client = new Client({
    connection: link,
    namespace: settings.temporalNamespace,
    identity: FIELD_MANAGER.CONTROLLERS,
  });
  return {
    gateway: createRolloutGateway(client),
    waitingFor: () => link.waitingFor(),
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
  return {
    ...target,
    connectTimeout: '5s' as const,
    // By default gRPC waits up to two minutes before it reconnects.
    channelArgs: {
      'grpc.initial_reconnect_backoff_ms': 500,
      'grpc.max_reconnect_backoff_ms': 5_000,
    },
  };
}

function createRolloutGateway(client: Client): RolloutGateway {
  const withDeadline = <T>(call: () => Promise<T>): Promise<T> =>
    client.connection.withDeadline(Date.now() + DEADLINE_MS, call);
  const isOpen = (pool: string): Promise<boolean> => {
    const handle = client.workflow.getHandle(poolRolloutId(pool));
    return foundOr(false, async () => {
      const { status, raw, runId } = await withDeadline(() => handle.describe());
      if (!isOpenStatus(status.name)) return false;
      if ((raw.pendingWorkflowTask?.attempt ?? 0) < ATTEMPTS_OF_A_STUCK_TASK) return true;
      const run = client.workflow.getHandle(poolRolloutId(pool), runId);
      await withDeadline(() => run.terminate(STUCK));
      return false;
    });
  };
  return {
    retarget: (pool, target, versions) => {
      const handle = client.workflow.getHandle(poolRolloutId(pool));
      return foundOr(false, async () => {
        if (!(await isOpen(pool))) return false;
        await withDeadline(() =>
          refusedOr(pool, () =>
            handle.executeUpdate(retargetUpdate, { args: [{ config: target, versions }] }),
          ),
        );
        return true;
      });
    },
    start: async (pool, target, versions) => {
      await withDeadline(() =>
        refusedOr(pool, () => startOrRetarget(client.workflow, pool, target, versions)),
      );
    },
    wake: async (pool, news) => {
      const handle = client.workflow.getHandle(poolRolloutId(pool));
      return foundOr(false, async () => {
        await withDeadline(() => handle.signal(clusterChangedSignal, news));
        return true;
      });
    },
    isOpen,
  };
}

async function refusedOr<T>(pool: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof WorkflowUpdateFailedError)) throw error;
    throw fail('RefusedRequest', `${poolRolloutId(pool)}: ${messageOf(error.cause ?? error)}`);
  }
}

async function foundOr<T>(absent: T, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return absent;
    throw error;
  }
}
