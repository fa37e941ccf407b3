/** A machine whose update to `NEW` is lost after its reboot. */

import { readCurrentConfig } from '../../../host/records/configs';
import { orderFor } from './a-host';
import type { OstreeHost } from './an-ostree-host';
import { motdOf } from './an-os-update';
import { image, NEW } from './os-configs';

/** The machine runs the new deployment, and no verification was ordered yet. @returns the boot before */
export async function bootIntoNew(host: OstreeHost): Promise<string> {
  const activities = await host.activities();
  await activities.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await activities.applyUpdate(orderFor(NEW, 'applyUpdate'));
  const { bootId } = await activities.armReboot(orderFor(NEW, 'armReboot'));
  await host.reboot();
  expect(await host.settle()).toEqual({});
  host.reboots.length = 0;
  return bootId;
}

/** Shows what runs, what is on disk, and whether an update is open. */
export async function stateOf(host: OstreeHost) {
  const { files, journal } = await host.ports();
  return {
    image: (await host.status()).booted.image,
    motd: motdOf(host),
    current: (await readCurrentConfig(files))?.reference.name,
    isOpen: (await journal.open()) !== undefined,
  };
}

export const ON_NEW = {
  image: image('2'),
  motd: 'new',
  current: 'rendered-worker-new',
  isOpen: false,
};
export const ON_OLD = {
  image: image('1'),
  motd: 'old',
  current: 'rendered-worker-old',
  isOpen: false,
};
/** The state in which the lost update left the machine. */
export const LEFT = { ...ON_NEW, current: ON_OLD.current, isOpen: true };
