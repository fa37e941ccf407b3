/** Connects to the cluster and to Temporal, each when a command first needs it. */

import { Client, Connection } from '@temporalio/client';
import { connectKube, type KubeClient } from '../adapters/kube/client';
import type { Log } from '../adapters/kube/transport';
import { messageOf } from '../core/errors';
import { TEMPORAL_NAMESPACE } from '../core/names';
import { userInfo } from 'node:os';
import { cliError, EXIT } from './exit-codes';
import { kubeCluster } from './kube-cluster';
import type { CliCluster, CliTemporal } from './ports';
import type { GlobalOptions } from './program';
import { temporalRollouts } from './temporal-rollouts';
import { VERSION } from './version';

export interface Connections {
  cluster(): Promise<CliCluster>;
  temporal(): Promise<CliTemporal>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Flags win over the environment, which wins over the defaults. */
export function openConnections(options: GlobalOptions, env: Environment): Connections {
  let kube: Promise<KubeClient> | undefined;
  let connection: Promise<Connection> | undefined;
  return {
    cluster: async () => {
      kube ??= openKube(options, env);
      return kubeCluster(await kube, QUIET);
    },
    temporal: async () => {
      connection ??= openTemporal(options, env);
      const namespace =
        options.temporalNamespace ?? env['TEMPORAL_NAMESPACE'] ?? TEMPORAL_NAMESPACE;
      return temporalRollouts(new Client({ connection: await connection, namespace }), userName());
    },
    close: async () => {
      (await settled(kube))?.close();
      await (await settled(connection))?.close();
    },
  };
}

/** The value of a promise that has been asked for and came; a failure was reported to whoever asked. */
async function settled<T>(promise: Promise<T> | undefined): Promise<T | undefined> {
  return promise?.then(
    (value) => value,
    () => undefined,
  );
}

async function openKube(options: GlobalOptions, env: Environment): Promise<KubeClient> {
  const kubeconfig = options.kubeconfig ?? (env['KUBECONFIG'] || undefined);
  try {
    return await connectKube({
      userAgent: `slipway-cli/${VERSION}`,
      log: QUIET,
      timeoutMs: 10_000,
      environment: env,
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(options.context === undefined ? {} : { context: options.context }),
    });
  } catch (error) {
    throw cliError(EXIT.UNREACHABLE, `${messageOf(error)}; name one with --kubeconfig`);
  }
}

async function openTemporal(options: GlobalOptions, env: Environment): Promise<Connection> {
  const address = options.temporalAddress ?? env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233';
  try {
    return await Connection.connect({ address, connectTimeout: CONNECT_TIMEOUT_MS });
  } catch (error) {
    throw cliError(
      EXIT.UNREACHABLE,
      `Temporal at ${address} does not answer (${messageOf(error)}); name it with --temporal-address`,
    );
  }
}

/** For the record of a pause or a skip; a user without a name leaves none. */
export function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    // A user ID without a passwd entry, as in many containers.
    return undefined;
  }
}

/** The CLI reports failures itself; what the adapters log in between would only disturb the tree. */
const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
