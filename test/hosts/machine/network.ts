/**
 * A bridge in the suite's namespace, and for each host a namespace with a cable to it. The real
 * interfaces are never touched.
 */

import { readlinkSync } from 'node:fs';
import { execute } from '../execute';
import type { Lifetime } from '../lifetime';

/** Address of control plane, registry and server for hosts. */
export const CONTROL_PLANE = '10.211.0.1';
const BRIDGE = 'hosts0';

export interface HostNetwork {
  readonly address: string;
  /** For processes to be started in it. */
  readonly namespace: string;
  /** False = the cable is unplugged. */
  connect(connected: boolean): Promise<void>;
  /** To this TCP port of the control plane, until `heal`. */
  cut(port: number): Promise<void>;
  heal(): Promise<void>;
  /** The machine's side of the cable, as at a boot. */
  renew(): Promise<void>;
}

export function isPrivateNetwork(): boolean {
  return process.env['SLIPWAY_HOSTS_NAMESPACE'] === readlinkSync('/proc/self/ns/net');
}

/** @throws Error outside a namespace of the suite's own */
export async function createBridge(): Promise<void> {
  if (!isPrivateNetwork()) {
    throw new Error('end-to-end hosts run in a network namespace of their own: npm test -- hosts');
  }
  await ip('link', 'set', 'lo', 'up');
  const links = JSON.parse(await execute('ip', ['-json', 'link'])) as { ifname: string }[];
  if (links.some(({ ifname }) => ifname === BRIDGE)) return;
  await ip('link', 'add', BRIDGE, 'type', 'bridge');
  await ip('address', 'add', `${CONTROL_PLANE}/24`, 'dev', BRIDGE);
  await ip('link', 'set', BRIDGE, 'up');
}

/** @param number - from 1; the last part of the address */
export async function createHostNetwork(
  lifetime: Lifetime,
  name: string,
  number: number,
): Promise<HostNetwork> {
  const address = `10.211.0.${10 + number}`;
  const outside = `host${number}`;
  await lifetime.own(
    () => ip('netns', 'add', name),
    () => ip('netns', 'delete', name),
  );
  await lifetime.own(
    () => ip('link', 'add', outside, 'type', 'veth', 'peer', 'name', 'host0', 'netns', name),
    () => ip('link', 'delete', outside),
  );
  await ip('link', 'set', outside, 'master', BRIDGE);
  await ip('link', 'set', outside, 'up');
  const within = (...args: readonly string[]) => ip('-netns', name, ...args);
  const renew = async (): Promise<void> => {
    await within('link', 'set', 'lo', 'up');
    await within('address', 'replace', `${address}/24`, 'dev', 'host0');
    await within('link', 'set', 'host0', 'up');
    // The kubelet needs a default route.
    await within('route', 'replace', 'default', 'via', CONTROL_PLANE);
  };
  await renew();
  const cuts = new Set<number>();
  const rule = (change: 'add' | 'delete', port: number) =>
    within('rule', change, 'ipproto', 'tcp', 'dport', String(port), 'blackhole');
  return {
    address,
    namespace: `/run/netns/${name}`,
    connect: (connected) => ip('link', 'set', outside, connected ? 'up' : 'down'),
    cut: async (port) => {
      await rule('add', port);
      cuts.add(port);
    },
    heal: async () => {
      for (const port of cuts) await rule('delete', port);
      cuts.clear();
    },
    renew,
  };
}

async function ip(...args: readonly string[]): Promise<void> {
  await execute('ip', args);
}
