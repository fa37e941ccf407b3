import { join } from 'node:path';
import { postNodes } from '../../../tools/cluster/nodes';
import { joinPool, type PointerConfig } from '../machine/join';
import { createMachine, type Machine } from '../machine/machine';
import type { World } from './world';

const NO_POINTER = { ignition: { version: '3.4.0' } };

interface NewMachine {
  /** Default: the oldest with a host worker. */
  readonly image: 'v1' | 'bare' | 'stock';
  /** Of another image, instead. */
  readonly reference?: string;
  /** Default: the pool's, or none for an image without a host worker. */
  readonly pointer?: PointerConfig;
  /** Path → text. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Installed, without power, and its Node as a kubelet registers it. */
export async function installMachine(
  { fleet, lifetime }: World,
  name: string,
  number: number,
  { image, reference, pointer: given, files = {} }: NewMachine = { image: 'v1' },
): Promise<Machine> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '';
  const { cluster, images, pointer, product } = fleet;
  const machine = await createMachine(lifetime, {
    directory: join(directory, 'machines'),
    ...{ name, number },
    image: reference ?? images[image],
    kernelArguments: ['root=/dev/vda', 'ro'],
  });
  await joinPool(machine, {
    ...(image === 'v1'
      ? { pointer: given ?? pointer, host: product }
      : { pointer: given ?? NO_POINTER }),
    ...{ cluster, files },
  });
  await postNodes(cluster.admin, [{ name, labels: { 'kubernetes.io/hostname': name } }]);
  return machine;
}
