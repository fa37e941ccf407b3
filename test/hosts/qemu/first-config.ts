/** As Ignition leaves configs on the disk of a machine that lacks their kernel arguments. */

import { CURRENT_CONFIG_FILE } from '../../../host/records/configs';
import { digestOfTag } from '../build/oci-layout';
import { REGISTRY } from '../machine/os-registry';
import { type InstalledFile, installedDisk } from './disk';
import { BOOTABLE, qemuImages } from './images';

const NODE = 'qemu-0';
/** The boot loader spells them differently, except one. */
export const QUOTED = [
  'cgroup_no_v1="all"',
  'dyndbg="file not-there.c +p"',
  '"acpi_osi=!Windows 2012"',
  'slipway.middle="a b"c',
  "slipway.single='a b'",
  String.raw`slipway.escaped=64M\$0x1000`,
];
export const GOOD = {
  name: 'rendered-worker-good',
  kernelArguments: ['slipway.story=arrived', 'audit=0', ...QUOTED, ''],
};
/** As if the first boot had been cut off. */
const BEFORE = {
  name: `${GOOD.name}-from-ignition`,
  kernelArguments: ['slipway.gone="for good"', 'slipway.short="all"'],
};
/** As the installer spelled them. */
export const GONE = ['"slipway.gone=for good"', 'slipway.short=all'];
/** Its init program is not in the image. */
export const UNBOOTABLE = {
  name: 'rendered-worker-unbootable',
  kernelArguments: [...GOOD.kernelArguments, 'init=/usr/lib/not-there'],
};

/** Replaces the first config. */
export const UNBOOTABLE_FILE = '/etc/unbootable.json';
/** A first boot that is not complete. */
export const LEFT_FILES = [
  '/etc/mcs-machine-config-content.json',
  '/etc/ignition-machine-config-encapsulated.json',
] as const;

/** The other files identify the machine. */
export async function storyDisk(): Promise<string> {
  const image = `${REGISTRY}/os@${await digestOfTag(await qemuImages(), BOOTABLE)}`;
  const good = served(GOOD, image);
  const files: readonly InstalledFile[] = [
    ...LEFT_FILES.map((path) => ({ path, content: good })),
    { path: CURRENT_CONFIG_FILE, content: served(BEFORE, image) },
    { path: UNBOOTABLE_FILE, content: served(UNBOOTABLE, image) },
    { path: '/etc/hostname', content: `${NODE}\n` },
    { path: '/etc/slipway/host.yaml', content: `node: ${NODE}\n` },
  ];
  return installedDisk({ files, kernelArguments: GONE });
}

function served({ name, kernelArguments }: typeof GOOD, image: string): string {
  return JSON.stringify({
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name },
    spec: {
      osImageURL: image,
      baseOSExtensionsContainerImage: '',
      kernelArguments,
      kernelType: 'default',
      extensions: [],
      fips: false,
      config: { ignition: { version: '3.5.0' } },
    },
  });
}
