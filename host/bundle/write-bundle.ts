/** Writes a bundle through the undo journal: all of it, or nothing. */

import { posix } from 'node:path';
import type { DisruptionAction } from '../../core/disruption';
import { messageOf } from '../../core/errors';
import { type HostBundle, isRegistryPath } from '../../core/host-bundle';
import { planInPlace } from '../../core/node/plan-in-place';
import { endRepair } from '../drift/unfinished-repair';
import { changeWithDirectories } from '../paths/directories';
import type { HostPorts } from '../ports';
import { readCurrentConfig } from '../records/configs';
import { performActions, runningServices } from '../services/services';
import { beforeUpdate } from '../update/prove-running';
import { type BundleChanges, bundleChanges } from './bundle-changes';
import { readBundleRecord, writeBundleRecord } from './bundle-record';

export interface BundlePorts extends Pick<
  HostPorts,
  | 'node'
  | 'files'
  | 'users'
  | 'systemd'
  | 'journal'
  | 'os'
  | 'now'
  | 'context'
  | 'pause'
  | 'warn'
  | 'vitals'
> {
  /** The unit of this machine's kubelet; undefined = none. */
  kubeletUnit(): string | undefined;
  /** @throws why the API server is not recognised by these authorities alone */
  tryAuthority(server: string, pem: string): Promise<void>;
}

interface WrittenBundle {
  /** Changed paths. */
  readonly paths: readonly string[];
  readonly leftToConfig: readonly string[];
}

/**
 * Not beside an activity or an open journal. Safe to repeat.
 *
 * @throws an Error without contents that says why nothing was changed
 */
export async function writeBundle(ports: BundlePorts, bundle: HostBundle): Promise<WrittenBundle> {
  const { files } = ports;
  const config = await readCurrentConfig(files);
  const before = await readBundleRecord(files);
  const found = await bundleChanges(ports, bundle, config, before);
  await recogniseServers(ports, bundle, found);
  if (found.changes.length > 0) {
    const target = config?.reference ?? { name: 'certificates', digest: bundle.digest };
    await writeThroughJournal(ports, found, target);
    await removeEmpty(ports, found);
  }
  if (JSON.stringify(before) !== JSON.stringify(found.record)) {
    await writeBundleRecord(files, found.record);
  }
  const { changes, leftToConfig } = found;
  return { paths: changes.map(({ path }) => path), leftToConfig };
}

/** A kubelet with a wrong authority would cut the machine off. */
async function recogniseServers(
  ports: BundlePorts,
  { apiServerAuthority = '' }: HostBundle,
  { servers }: BundleChanges,
): Promise<void> {
  for (const server of servers) {
    try {
      await ports.tryAuthority(server, apiServerAuthority);
    } catch (error) {
      throw new Error(
        `the API server ${server} is not recognised by spec.rootCAData of the ControllerConfig (${messageOf(error)}), so nothing was changed; correct spec.rootCAData`,
        { cause: error },
      );
    }
  }
}

async function writeThroughJournal(
  ports: BundlePorts,
  { changes, servers }: BundleChanges,
  target: { readonly name: string; readonly digest: string },
): Promise<void> {
  const status = await ports.os.status();
  const id = `certificates/${ports.now().toISOString()}`;
  const kubelet = servers.length > 0 ? ports.kubeletUnit() : undefined;
  const actions: readonly DisruptionAction[] =
    kubelet === undefined ? [] : [{ type: 'Restart', restart: { serviceName: kubelet } }];
  const paths = changes.map(({ path }) => path);
  const few = `change of ${paths.length} ${paths.length === 1 ? 'file' : 'files'}`;
  const journal = await ports.journal.begin(id, {
    orderId: id,
    node: ports.node,
    driver: ports.os.name,
    target,
    previous: target,
    previousDeployment: status.booted.id,
    before: beforeUpdate(status),
    repair: true,
    plan: planInPlace({ files: paths, actions, summary: `${few} of certificates and secrets` }),
  });
  try {
    await journal.record(paths);
    await changeWithDirectories(ports, changes);
    await journal.mark({ kind: 'applied' });
    const running = await runningServices(ports, actions);
    await journal.mark({ kind: 'servicesBegun', ...(running === undefined ? {} : { running }) });
    await performActions(ports, actions);
    if (actions.length > 0) await ports.vitals?.kubeletHealthy(ports.context());
  } catch (error) {
    await endRepair(ports, journal, status);
    throw error;
  }
  await journal.close();
}

/** Of registries that are gone; a directory with files of others stays. */
async function removeEmpty({ files }: BundlePorts, { changes }: BundleChanges): Promise<void> {
  for (const { path, state } of changes) {
    if (state.kind === 'absent' && isRegistryPath(path)) {
      await files.removeDirectory(posix.dirname(path));
    }
  }
}
