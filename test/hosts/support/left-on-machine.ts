import type { Machine } from '../machine/machine';

/** Where files of a config, container runtime, pods and journal are: not of the host worker. */
const ELSEWHERE = [
  ...['containerd', 'kubelet'].map((of) => `*/${of}/*`),
  ...['/var/log/*', '/etc/machine-config-daemon/*'],
];

/** What is left of the host worker: paths, a line each. @param kept - paths of the machine's config */
export function leftOnMachine(machine: Machine, kept: readonly string[] = []): Promise<string> {
  const without = [...ELSEWHERE, ...kept].flatMap((path) => ['-not', '-path', path]);
  return machine.output('find', '/etc', '/var', '/run', '-name', '*slipway*', ...without);
}
