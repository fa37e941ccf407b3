/**
 * Changes that MCO accepts although nothing applies them to a running machine: the pool would be
 * Updated and the machine unchanged.
 */

import { fail } from '../errors';
import {
  ignitionEqual,
  listOf,
  parseAndConvert,
  readRawIgnition,
  structOf,
  without,
  type IgnitionObject,
  type RenderPorts,
} from '../ignition';
import type { MachineConfig } from './types';

/** Sections that take effect only at the first boot. */
const FIRST_BOOT_SECTIONS: readonly (readonly [string, (config: IgnitionObject) => unknown])[] = [
  ['storage.luks', (config) => structOf(config['storage'])['luks']],
  ['ignition.config', (config) => structOf(config['ignition'])['config']],
  ['ignition.security', (config) => structOf(config['ignition'])['security']],
  ['ignition.proxy', (config) => structOf(config['ignition'])['proxy']],
  ['ignition.timeouts', (config) => structOf(config['ignition'])['timeouts']],
];

/** A sentence about the first change without effect, or undefined. */
export function ineffectiveChange(
  current: MachineConfig,
  next: MachineConfig,
  ports: Pick<RenderPorts, 'gunzip'>,
): string | undefined {
  const [old, wanted] = [current, next].map((machineConfig) =>
    parseAndConvert(readRawIgnition(machineConfig.spec.config, ports)),
  );
  if (old === undefined || wanted === undefined) return undefined;
  const section = FIRST_BOOT_SECTIONS.find(([, of]) => !ignitionEqual(of(old), of(wanted)));
  if (section !== undefined) {
    return `spec.config.${section[0]} only takes effect at first boot, so the change would reach no running machine`;
  }
  return userChange(listOf(structOf(old['passwd'])['users']), structOf(wanted['passwd'])['users']);
}

/** MCO checks the last user only. */
function userChange(old: readonly IgnitionObject[], wanted: unknown): string | undefined {
  for (const user of listOf(wanted)) {
    const before = old.find((other) => other['name'] === user['name']) ?? {};
    const fixed = (value: IgnitionObject): IgnitionObject =>
      without(value, 'name', 'sshAuthorizedKeys', 'passwordHash');
    if (!ignitionEqual(fixed(before), fixed(user))) {
      return 'only sshAuthorizedKeys and passwordHash of a user can be changed on a running machine';
    }
  }
  return undefined;
}

/**
 * Refuses a rendered config that changes something without effect.
 *
 * @throws Unreconcilable
 */
export function refuseIneffectiveChange(
  current: MachineConfig,
  next: MachineConfig,
  ports: Pick<RenderPorts, 'gunzip'>,
): void {
  const change = ineffectiveChange(current, next, ports);
  if (change !== undefined) throw fail('Unreconcilable', change);
}
