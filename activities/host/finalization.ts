/** What ostree says, in the boot after, of a deployment that it could not put in place at the shutdown. */

import { messageOf } from '../../core/errors';
import { type HostPorts, markOf, type OpenJournal, type OsStatus } from './ports';

/** It fails when it finds what `ostree-finalize-staged.service` wrote down as it failed; ostree has it since 2022. */
const BOOT_COMPLETE = 'ostree-boot-complete.service';

/**
 * Why the deployment that the reboot was armed for is not in place, where ostree has tried and failed: it would fail the
 * same way at the next shutdown, so the update is not tried again as after a power cut.
 *
 * @returns a sentence; undefined = it did not fail, or nobody can tell (an older ostree, another boot since)
 */
export async function whyNotInPlace(
  { systemd, warn }: Pick<HostPorts, 'systemd' | 'warn'>,
  journal: OpenJournal,
  { bootId, booted }: OsStatus,
): Promise<string | undefined> {
  const armed = markOf(journal, 'armed');
  const isOfEarlierBoot = armed !== undefined && armed.bootId !== bootId;
  if (!isOfEarlierBoot || armed.expected === booted.id) return undefined;
  try {
    const state = await systemd.state(BOOT_COMPLETE);
    if (state?.active !== 'failed') return undefined;
  } catch (error) {
    // Nothing that a program says keeps the files from going back.
    warn?.(`cannot look whether ostree failed at the shutdown: ${messageOf(error)}`);
    return undefined;
  }
  return (
    `ostree could not put deployment ${armed.expected} in place as the machine went down ` +
    `(${BOOT_COMPLETE} failed; "journalctl -u ${BOOT_COMPLETE} -u ostree-finalize-staged" says why)`
  );
}
