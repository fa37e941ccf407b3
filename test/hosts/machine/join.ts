import type { Cluster } from '../../../tools/cluster';
import { readCredentials } from '../../../tools/cluster';
import { kubeconfigText } from '../../../tools/cluster/kubeconfig';
import { firstBoot } from './first-boot';
import type { Machine } from './machine';
import { CONTROL_PLANE } from './network';

export interface MachineSettings {
  readonly cluster: Cluster;
  readonly temporal: string;
  readonly hostEndpoint: string;
  /** Text of `/etc/slipway/order-keys.json`. */
  readonly orderKeys?: string;
  readonly settings?: Readonly<Record<string, string>>;
}

/** As much as is read of one. */
export interface PointerConfig {
  readonly ignition?: object;
  readonly storage?: { readonly files?: readonly object[] };
}

interface JoinOptions extends MachineSettings {
  /** From `slipway pointer-config`, with a token. */
  readonly pointer: PointerConfig;
  /** Its image has no host worker, and nobody has written settings for one. */
  readonly bare?: true;
  /** Path → text. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Up to the end of the initramfs. The machine is off before and after. */
export async function joinPool(machine: Machine, options: JoinOptions): Promise<void> {
  const files = await ownFiles(machine, options);
  for (const [path, text] of Object.entries(options.files ?? {})) files.set(path, [text]);
  if (options.bare !== true)
    files.set('/etc/slipway/host.yaml', [hostSettings(options, machine.name), 0o600]);
  if (options.orderKeys !== undefined)
    files.set('/etc/slipway/order-keys.json', [options.orderKeys]);
  const own = [...files].map(([path, [text, mode = 0o644]]) => ({
    path,
    mode,
    overwrite: true,
    contents: { source: `data:;base64,${Buffer.from(text).toString('base64')}` },
  }));
  const { pointer } = options;
  const storage = { files: [...(pointer.storage?.files ?? []), ...own] };
  await firstBoot(machine, { ...pointer, storage });
}

/** Path → text, mode. */
type OwnFiles = Map<string, readonly [text: string, mode?: number]>;

/** Name and credentials. */
async function ownFiles(machine: Machine, options: MachineSettings): Promise<OwnFiles> {
  const { cluster } = options;
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
export function hostSettings(options: Omit<MachineSettings, 'cluster'>, node?: string): string {
  const settings = {
    temporalAddress: options.temporal,
    serverUrl: options.hostEndpoint,
    ...(node === undefined ? {} : { node }),
    authorityFile: '/etc/kubernetes/ca.crt',
    certificateFile: '/etc/kubernetes/kubelet-client.crt',
    keyFile: '/etc/kubernetes/kubelet-client.key',
    // These machines boot in a second.
    kubeletHealthSeconds: '20',
    startJitterSeconds: '0',
    inhibitorSeconds: '5',
    logLevel: 'debug',
    ...options.settings,
  };
  return Object.entries(settings)
    .map(([setting, value]) => `${setting}: ${value}\n`)
    .join('');
}
