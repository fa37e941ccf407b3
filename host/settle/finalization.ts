/** ostree's report of a deployment that it could not finalize at the shutdown. */

import { messageOf } from '../../core/errors';
import { atBest, type HostPorts, markOf, type OpenJournal, type OsStatus } from '../ports';

/**
 * `ostree-finalize-staged.service` writes this file when it fails. In the next boot, the unit below
 * removes it and fails with its text (ostree since 2022).
 *
 * @see https://github.com/ostreedev/ostree/pull/2589
 */
const FAILURE_FILE = '/boot/ostree/finalize-failure.stamp';
const BOOT_COMPLETE = 'ostree-boot-complete.service';
/** Of its sentence, which names a path. */
const MOST_CHARACTERS = 300;

type Ports = Pick<HostPorts, 'files' | 'systemd' | 'warn'>;

/**
 * It would fail again at the next shutdown, so the update is not repeated as after a power cut.
 *
 * @returns a sentence; undefined = it did not fail, or is not known (an older ostree, another boot
 *   since)
 */
export async function whyNotInPlace(
  ports: Ports,
  journal: OpenJournal,
  { bootId, booted }: OsStatus,
): Promise<string | undefined> {
  const armed = markOf(journal, 'armed');
  const isOfEarlierBoot = armed !== undefined && armed.bootId !== bootId;
  if (!isOfEarlierBoot || armed.expected === booted.id) return undefined;
  const said = await failureOf(ports).catch((error: unknown) => {
    // A failing program must not prevent the undo of the files.
    ports.warn?.(`cannot check whether ostree failed at the shutdown: ${messageOf(error)}`);
    return undefined;
  });
  if (said === undefined) return undefined;
  return `ostree could not put deployment ${armed.expected} in place as the machine went down: ${said}`;
}

async function failureOf({ files, systemd }: Ports): Promise<string | undefined> {
  const state = await systemd.state(BOOT_COMPLETE);
  if (state?.active === 'failed') {
    return `${BOOT_COMPLETE} failed; "journalctl -u ${BOOT_COMPLETE}" says why`;
  }
  const found = await files.look(FAILURE_FILE);
  if (found.kind !== 'file') return undefined;
  const [sentence = ''] = found.content.toString('utf8').trim().split('\n');
  return sentence.slice(0, MOST_CHARACTERS) || 'it did not say why';
}

/** Without that unit, the next update would take the file for its own. */
export async function forgetNotInPlace(ports: Ports): Promise<void> {
  const what = `cannot remove ${FAILURE_FILE}`;
  await atBest(ports, what, () => ports.files.remove(FAILURE_FILE));
}
