/** What ostree says, in the boot after, of a deployment that it could not put in place at the shutdown. */

import { messageOf } from '../../core/errors';
import { atBest, type HostPorts, markOf, type OpenJournal, type OsStatus } from '../ports';

/**
 * What `ostree-finalize-staged.service` writes down as it fails, and the unit that finds it in the next boot, takes it away and
 * fails with it; ostree has both since 2022.
 *
 * @see https://github.com/ostreedev/ostree/pull/2589
 */
const FAILURE_FILE = '/boot/ostree/finalize-failure.stamp';
const BOOT_COMPLETE = 'ostree-boot-complete.service';
/** Of its sentence, which names a path. */
const MOST_CHARACTERS = 300;

type Ports = Pick<HostPorts, 'files' | 'systemd' | 'warn'>;

/**
 * Why the deployment that the reboot was armed for is not in place, where ostree has tried and failed: it would fail the
 * same way at the next shutdown, so the update is not tried again as after a power cut.
 *
 * @returns a sentence; undefined = it did not fail, or nobody can tell (an older ostree, another boot since)
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
    // Nothing that a program says keeps the files from going back.
    ports.warn?.(`cannot look whether ostree failed at the shutdown: ${messageOf(error)}`);
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

/** The update knows it by now; where that unit is not enabled, the next one would take it for its own. */
export async function forgetNotInPlace(ports: Ports): Promise<void> {
  const what = `cannot remove ${FAILURE_FILE}`;
  await atBest(ports, what, () => ports.files.remove(FAILURE_FILE));
}
