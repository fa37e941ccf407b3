import { join } from 'node:path';
import { postNodes } from '../../../tools/cluster/nodes';
import { joinPool } from '../machine/join';
import { createMachine, type Machine } from '../machine/machine';
import type { World } from './world';

/** Installed with the older image, without power, and its Node as a kubelet registers it. */
export async function installMachine(
  { fleet }: World,
  name: string,
  number: number,
): Promise<Machine> {
  const directory = process.env['SLIPWAY_HOSTS_DIRECTORY'] ?? '';
  const { cluster, images, pointer, product, temporal } = fleet;
  const machine = await createMachine({
    directory: join(directory, 'machines'),
    ...{ name, number },
    image: images.v1,
    kernelArguments: ['root=/dev/vda', 'ro'],
  });
  try {
    await joinPool(machine, {
      ...{ cluster, pointer },
      ...{ temporal: temporal.address, hostEndpoint: product.hostEndpoint },
    });
    await postNodes(cluster.admin, [{ name, labels: { 'kubernetes.io/hostname': name } }]);
  } catch (error) {
    await machine.remove();
    throw error;
  }
  return machine;
}
