import type { Cluster } from '../../../tools/cluster';
import { readCredentials } from '../../../tools/cluster';
import { kubeconfigText } from '../../../tools/cluster/kubeconfig';
import { firstBoot } from './first-boot';
import type { Machine } from './machine';
import type { HostServer, Product } from '../../../tools/stack/product';
import { CONTROL_PLANE } from './network';

/** Where a host worker finds Slipway, and settings of its own. */
export interface HostPlace extends HostServer {
  readonly settings?: Readonly<Record<string, string>>;
}

/** As much as is read of one. */
export interface PointerConfig {
  readonly ignition?: object;
  readonly storage?: { readonly files?: readonly object[] };
}

interface JoinOptions {
  readonly cluster: Cluster;
  /** From `slipway pointer-config`, with a token. */
  readonly pointer: PointerConfig;
  /** Absent: its image has no host worker, and nobody has written settings for one. */
  readonly host?: HostPlace & Pick<Product, 'orderKeys'>;
  /** Path → text. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Up to the end of the initramfs. The machine is off before and after. */
export async function joinPool(machine: Machine, options: JoinOptions): Promise<void> {
  const { cluster, host, pointer } = options;
  const files = await ownFiles(machine, cluster);
  for (const [path, text] of Object.entries(options.files ?? {})) files.set(path, [text]);
  if (host !== undefined) {
    files.set('/etc/slipway/host.yaml', [hostSettings(host, machine.name), 0o600]);
    files.set('/etc/slipway/order-keys.json', [host.orderKeys]);
  }
  const own = [...files].map(([path, [text, mode = 0o644]]) => ({
    path,
    mode,
    overwrite: true,
    contents: { source: `data:;base64,${Buffer.from(text).toString('base64')}` },
  }));
  const storage = { files: [...(pointer.storage?.files ?? []), ...own] };
  await firstBoot(machine, { ...pointer, storage });
}

/** Path → text, mode. */
type OwnFiles = Map<string, readonly [text: string, mode?: number]>;

/** Name and credentials. */
async function ownFiles(machine: Machine, cluster: Cluster): Promise<OwnFiles> {
  const { name } = machine;
  const credentials = await readCredentials(await cluster.nodeCredentials(name));
  const kubeconfig = kubeconfigText({
    server: `https://${CONTROL_PLANE}:${new URL(cluster.server).port}`,
    authority: cluster.ca,
    user: `system:node:${name}`,
    credentials,
  });
  const kubelet = `--hostname-override=${name} --node-ip=${machine.network.address}`;
  return new Map([
    ['/etc/hostname', [`${name}\n`]],
    ['/etc/kubernetes/ca.crt', [cluster.ca]],
    ['/etc/kubernetes/kubelet-client.crt', [credentials.certificate, 0o600]],
    ['/etc/kubernetes/kubelet-client.key', [credentials.key, 0o600]],
    ['/etc/kubernetes/kubeconfig', [kubeconfig, 0o600]],
    // For the unit of the suite, and for that of kubeadm.
    ['/etc/kubernetes/node.env', [`KUBELET_ARGS=${kubelet}\nKUBELET_EXTRA_ARGS=${kubelet}\n`]],
  ]);
}

/** @param node - default: the name of the machine */
export function hostSettings(place: HostPlace, node?: string): string {
  const settings = {
    gatewayAddress: place.gatewayAddress,
    serverUrl: place.hostEndpoint,
    ...(node === undefined ? {} : { node }),
    authorityFile: '/etc/kubernetes/ca.crt',
    certificateFile: '/etc/kubernetes/kubelet-client.crt',
    keyFile: '/etc/kubernetes/kubelet-client.key',
    // These machines boot in a second.
    kubeletHealthSeconds: '20',
    startJitterSeconds: '0',
    inhibitorSeconds: '5',
    logLevel: 'debug',
    ...place.settings,
  };
  return Object.entries(settings)
    .map(([setting, value]) => `${setting}: ${value}\n`)
    .join('');
}
