/**
 * The deployment on which the current config was committed. Kept in `/var`, which all deployments
 * share: so a deployment that a person booted is not reported as drift of many files.
 */

import { isRecord } from '../../core/is-record';
import { fail } from '../../core/errors';
import type { ConfigReference } from '../../workflows/contracts/host';
import { findOsDrift } from '../drift/compare';
import type { Files, HostPorts, OsStatus } from '../ports';
import { type HostConfig, readCurrentConfig, readPrivate, writePrivate } from './configs';

const COMMITTED_FILE = '/var/lib/slipway/committed.json';
/** MCO's file: by it a person declares that the disk need not match. */
export const FORCE_FILE = '/run/machine-config-daemon-force';

interface CommittedUpdate {
  readonly config: ConfigReference;
  readonly deployment: string;
  readonly image?: string;
}

export async function readCommitted(files: Files): Promise<CommittedUpdate | undefined> {
  const committed = await readPrivate(files, COMMITTED_FILE);
  // Without the record, any deployment that matches the config is right.
  const isWhole = isRecord(committed) && isRecord(committed['config']);
  return isWhole ? (committed as unknown as CommittedUpdate) : undefined;
}

export async function writeCommitted(
  files: Files,
  config: ConfigReference,
  { booted }: OsStatus,
): Promise<void> {
  const committed: CommittedUpdate = {
    config: { name: config.name, digest: config.digest },
    deployment: booted.id,
    ...(booted.image === undefined ? {} : { image: booted.image }),
  };
  await writePrivate(files, COMMITTED_FILE, JSON.stringify(committed));
}

/**
 * An equal one is accepted: the same record, and an operating system as in the config.
 *
 * @throws `WrongDeployment` naming both deployments
 */
export async function refuseForeignDeployment(
  ports: Pick<HostPorts, 'node' | 'files' | 'os'>,
  status: OsStatus,
): Promise<void> {
  const foreign = await findForeignDeployment(ports, status);
  if (foreign === undefined) return rememberDeployment(ports.files, status);
  if ((await ports.files.look(FORCE_FILE)).kind !== 'absent') return;
  throw fail('WrongDeployment', foreign, { deployment: status.booted.id });
}

/** A sentence; undefined = the right deployment is booted. */
export async function findForeignDeployment(
  { node, files, os }: Pick<HostPorts, 'node' | 'files' | 'os'>,
  status: OsStatus,
): Promise<string | undefined> {
  const committed = await readCommitted(files);
  if (committed === undefined || !os.managesOs) return undefined;
  const { booted } = status;
  if (committed.deployment === booted.id) return undefined;
  const current = await readCurrentConfig(files);
  if (isAsCommitted(committed, current, status)) return undefined;
  return (
    `${node} booted deployment ${booted.id} (${booted.image ?? 'no image'}), but ` +
    `${committed.config.name} was committed on ${committed.deployment} ` +
    `(${committed.image ?? 'no image'}): a person booted another deployment; boot the right one ` +
    `again, or make ${FORCE_FILE} to go on from this one`
  );
}

async function rememberDeployment(files: Files, status: OsStatus): Promise<void> {
  const committed = await readCommitted(files);
  if (committed === undefined || committed.deployment === status.booted.id) return;
  await writeCommitted(files, committed.config, status);
}

function isAsCommitted(
  committed: CommittedUpdate,
  current: HostConfig | undefined,
  status: OsStatus,
): boolean {
  const isSameConfig =
    current?.reference.name === committed.config.name &&
    current.reference.digest === committed.config.digest;
  return isSameConfig && findOsDrift(status, current.spec) === undefined;
}
