import { type Cluster, startCluster } from '../../../tools/cluster';
import { newPayloadKeys } from '../../../tools/payload-keys';
import type { Registry } from '../../../tools/registry';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { type OsVersion, osImages } from '../build/images';
import { CONTROL_PLANE, createBridge } from '../machine/network';
import { startOsRegistry } from '../machine/os-registry';

export interface Servers {
  /** For files of this run. */
  readonly directory: string;
  readonly registry: Registry;
  /** References with digest. */
  readonly images: Readonly<Record<OsVersion, string>>;
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
  /** Ended in the opposite order, before the servers. */
  readonly stops: (() => Promise<void>)[];
}

interface ServerOptions {
  readonly ui?: boolean;
  /** False = the controllers make them. */
  readonly makesPayloadKeys?: boolean;
}

interface Stopped {
  stop(): Promise<void>;
}

/** Starts what machines need: a network, images, a cluster, Temporal. All of it ends where `build` fails. */
export async function withServers<T extends object>(
  { ui = false, makesPayloadKeys = false }: ServerOptions,
  build: (servers: Servers) => Promise<T>,
): Promise<T & Stopped> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'];
  if (directory === undefined) throw new Error('start it with tools/setup/in-namespace.sh');
  await createBridge();
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const { registry, images } = await startOsRegistry(directory, await osImages());
    stops.push(() => registry.stop());
    const cluster = await startCluster({ kwok: false, audit: true, address: CONTROL_PLANE });
    stops.push(() => cluster.stop());
    const payloadKeys = makesPayloadKeys ? newPayloadKeys(directory) : undefined;
    const temporal = await startTemporal({
      ...{ ip: CONTROL_PLANE, ui, database: true, payloadKeys },
    });
    stops.push(() => temporal.stop());
    const built = await build({ directory, registry, images, cluster, temporal, stops });
    return { ...built, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
