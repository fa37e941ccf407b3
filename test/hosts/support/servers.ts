import { type Cluster, startCluster } from '../../../tools/cluster';
import { newPayloadKeys } from '../../../tools/payload-keys';
import type { Registry } from '../../../tools/registry';
import { startTemporal, type TemporalServer } from '../../../tools/temporal';
import { type OsVersion, osImages } from '../build/images';
import type { Lifetime } from '../lifetime';
import { CONTROL_PLANE, createBridge } from '../machine/network';
import { startOsRegistry } from '../machine/os-registry';

interface Servers {
  /** For files of this run. */
  readonly directory: string;
  readonly registry: Registry;
  /** References with digest. */
  readonly images: Readonly<Record<OsVersion, string>>;
  readonly cluster: Cluster;
  readonly temporal: TemporalServer;
}

interface ServerOptions {
  readonly ui?: boolean;
  /** False = the controllers make them. */
  readonly makesPayloadKeys?: boolean;
}

/** What machines need: a network, images, a cluster, Temporal. */
export async function startServers(
  lifetime: Lifetime,
  { ui = false, makesPayloadKeys = false }: ServerOptions,
): Promise<Servers> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'];
  if (directory === undefined) throw new Error('start it with tools/setup/in-namespace.sh');
  await createBridge();
  const { registry, images } = await startOsRegistry(lifetime, directory, await osImages());
  const cluster = await lifetime.own(
    () => startCluster({ kwok: false, audit: true, address: CONTROL_PLANE }),
    (started) => started.stop(),
  );
  const payloadKeys = makesPayloadKeys ? newPayloadKeys(directory) : undefined;
  const temporal = await lifetime.own(
    () => startTemporal({ ip: CONTROL_PLANE, ui, database: true, payloadKeys }),
    (started) => started.stop(),
  );
  return { directory, registry, images, cluster, temporal };
}
