/** Connects to the cluster and to Temporal when a command first needs them. */

import {
  Client,
  Connection,
  defaultGrpcRetryOptions,
  makeGrpcRetryInterceptor,
} from '@temporalio/client';
import type { PayloadCodec } from '@temporalio/common';
import { connectKube, type KubeClient } from '../adapters/kube/client';
import { whoAmI } from '../adapters/kube/reviews';
import type { Log } from '../adapters/kube/transport';
import { messageOf } from '../core/errors';
import { readSettings, TemporalSettings } from '../process/settings';
import { VERSION } from '../process/version';
import {
  type ConnectionOptions,
  connectionOptions,
  RECONNECTS_SOON,
} from '../process/temporal/connection-options';
import { dataConverter } from '../process/temporal/payload-codec';
import { cliError, EXIT } from './exit-codes';
import { kubeCluster } from './kube-cluster';
import { codecOfPerson } from './payload-keys';
import { doctorCluster } from './doctor/cluster-facts';
import { doctorTemporal } from './doctor/temporal-facts';
import type {
  CliCluster,
  CliTemporal,
  CliTemporalSetup,
  DoctorConnections,
  SupportConnections,
} from './ports';
import type { GlobalOptions } from './program';
import { TemporalCalls } from './temporal-calls';
import { temporalRollouts } from './temporal-rollouts';
import { temporalSetup } from './temporal-setup';

export interface Connections {
  /** The name by which the API server knows the person; recorded with what they ask for. */
  user(): Promise<string | undefined>;
  cluster(): Promise<CliCluster>;
  temporal(): Promise<CliTemporal>;
  temporalSetup(): Promise<CliTemporalSetup>;
  readonly doctor: DoctorConnections;
  readonly support: SupportConnections;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Flags precede the environment.
 *
 * @param signal - ends calls to Temporal
 * @param warn - for people
 */
export function openConnections(
  options: GlobalOptions,
  env: Environment,
  signal: AbortSignal,
  warn: (text: string) => void = () => undefined,
): Connections {
  let kube: Promise<KubeClient> | undefined;
  let connection: Promise<TemporalConnection> | undefined;
  let user: Promise<string | undefined> | undefined;
  const openedKube = (): Promise<KubeClient> => (kube ??= openKube(options, env));
  const openedTemporal = (): Promise<TemporalConnection> =>
    (connection ??= openTemporal(temporalSettings(options, env), {
      codec: codecOfPerson(openedKube, warn),
      signal,
    }));
  const knownUser = (): Promise<string | undefined> => (user ??= userOf(openedKube()));
  const temporal = async (): Promise<CliTemporal> => {
    const { client, calls } = await openedTemporal();
    const person = await knownUser();
    return temporalRollouts(inNameOf(client, person), calls, person);
  };
  return {
    user: knownUser,
    cluster: async () => kubeCluster(await openedKube(), QUIET),
    support: { kube: openedKube, temporal: openedTemporal },
    temporal,
    doctor: {
      cluster: async () => doctorCluster(await openedKube()),
      temporal: async () => {
        const opened = await openedTemporal();
        const rollouts = temporalRollouts(opened.client, opened.calls, undefined);
        return doctorTemporal({ ...opened, rollouts });
      },
    },
    temporalSetup: async () => temporalSetup({ ...(await openedTemporal()), signal }),
    close: async () => {
      (await settled(kube))?.close();
      const opened = await settled(connection);
      await opened?.calls.end();
      await opened?.connection.close();
    },
  };
}

/** The awaiting caller got the failure. */
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
    // No request was sent: a file, a context or an address is wrong.
    throw cliError(
      EXIT.USAGE,
      `${messageOf(error)}; name the right one with --kubeconfig or --context`,
    );
  }
}

/** As the processes read them. */
function temporalSettings(options: GlobalOptions, env: Environment): TemporalSettings {
  try {
    return readSettings(TemporalSettings, { ...options }, env);
  } catch (error) {
    throw cliError(EXIT.USAGE, messageOf(error));
  }
}

interface TemporalConnection {
  readonly connection: Connection;
  readonly address: string;
  readonly namespace: string;
  readonly client: Client;
  readonly calls: TemporalCalls;
}

/** A person prefers an early answer; a watch tries again. */
const RETRY = makeGrpcRetryInterceptor(defaultGrpcRetryOptions({ maxAttempts: 4 }));

async function openTemporal(
  settings: TemporalSettings,
  { codec, signal }: { readonly codec: PayloadCodec; readonly signal: AbortSignal },
): Promise<TemporalConnection> {
  const target = temporalTarget(settings);
  const { address } = target;
  const namespace = settings.temporalNamespace;
  const connection = await connectTemporal(target);
  return {
    connection,
    address,
    namespace,
    client: new Client({ connection, namespace, dataConverter: dataConverter(codec) }),
    calls: new TemporalCalls({ connection, address, namespace, signal }),
  };
}

async function connectTemporal(target: ConnectionOptions): Promise<Connection> {
  try {
    return await Connection.connect({
      ...target,
      connectTimeout: CONNECT_TIMEOUT_MS,
      interceptors: [RETRY],
      channelArgs: RECONNECTS_SOON,
    });
  } catch (error) {
    throw cliError(
      EXIT.UNREACHABLE,
      `Temporal at ${target.address} does not answer (${messageOf(error)}); name it with --temporal-address`,
    );
  }
}

/** Before any server is asked. */
function temporalTarget(settings: TemporalSettings): ConnectionOptions {
  const address = settings.temporalAddress;
  if (!isAddress(address)) {
    throw cliError(
      EXIT.USAGE,
      `the Temporal address ${address} is not host:port, for example 127.0.0.1:7233; ` +
        'name it with --temporal-address',
    );
  }
  try {
    return connectionOptions(settings);
  } catch (error) {
    throw cliError(EXIT.USAGE, messageOf(error));
  }
}

/** Or an IPv6 address in brackets; the port is optional. */
function isAddress(text: string): boolean {
  const match = /^(?:\[[0-9a-fA-F:.]+\]|[^\s:/[\]]+)(?::(\d+))?$/.exec(text);
  const port = Number(match?.[1] ?? 7233);
  return match !== null && port >= 1 && port <= 65_535;
}

/** Undefined = the API server does not say. Where it cannot be asked at all, the command fails by its other questions. */
async function userOf(kube: Promise<KubeClient>): Promise<string | undefined> {
  try {
    return (await whoAmI(await kube))?.user;
  } catch {
    return undefined;
  }
}

/** Temporal records it with what this client asks for. */
function inNameOf({ options, connection }: Client, user: string | undefined): Client {
  const { namespace, dataConverter } = options;
  const identity = user === undefined ? {} : { identity: user };
  return new Client({ connection, namespace, dataConverter, ...identity });
}

/** Log lines would disturb the tree. */
const QUIET: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
