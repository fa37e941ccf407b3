/** An update of everything: operating system, kernel arguments, files and a unit. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { aConfig, aFile, orderFor } from '../a-host';
import { motdOf } from '../an-os-update';
import type { OstreeHost } from '../an-ostree-host';

export const OLD_IMAGE = `os@sha256:${'1'.repeat(64)}`;
export const NEW_IMAGE = `os@sha256:${'2'.repeat(64)}`;
export const serviceWith = (text: string) => ({
  name: 'a.service',
  contents: `[Service]\n# ${text}\n`,
});

export const OLD = aConfig('rendered-worker-old', {
  osImageURL: OLD_IMAGE,
  config: {
    storage: { files: [aFile('/etc/motd', 'old')] },
    systemd: { units: [serviceWith('old')] },
  },
});
export const NEW = aConfig('rendered-worker-new', {
  osImageURL: NEW_IMAGE,
  kernelArguments: ['nosmt'],
  config: {
    storage: { files: [aFile('/etc/motd', 'new'), aFile('/etc/added', 'new')] },
    systemd: { units: [serviceWith('new')] },
  },
});

/** The state on which the kubelet would start. */
export async function pictureOf(host: OstreeHost) {
  const { booted } = await host.status();
  const added = existsSync(join(host.root, 'etc/added'));
  return { image: booted.image, motd: motdOf(host), added };
}
export const ON_OLD = { image: OLD_IMAGE, motd: 'old', added: false };
export const ON_NEW = { image: NEW_IMAGE, motd: 'new', added: true };

const STEPS = ['prepareUpdate', 'applyUpdate', 'armReboot'] as const;

/** Gives the orders of the update up to and with this step. @returns the boot that was armed to end */
export async function orderUpTo(host: OstreeHost, last: (typeof STEPS)[number]): Promise<string> {
  const activities = await host.activities();
  let bootId = '';
  for (const step of STEPS.slice(0, STEPS.indexOf(last) + 1)) {
    const result = await activities[step](orderFor(NEW, step));
    if (step === 'armReboot') bootId = (result as { bootId: string }).bootId;
  }
  return bootId;
}
