/** Reads a person's disruption policies from the cluster, without invalid entries. */

import { isOwnService } from '../names';
import type { DisruptionAction, FilePolicy, NodeDisruptionPolicy, UnitPolicy } from './types';

const PLAIN = ['None', 'DaemonReload', 'Drain', 'Reboot'] as const;

/**
 * `spec.nodeDisruptionPolicy` of the MachineConfiguration. An entry with an invalid action is
 * dropped as a whole, so that its path keeps the default cost and never gets a lower one by
 * mistake.
 */
export function readDisruptionPolicy(value: unknown): NodeDisruptionPolicy {
  const policy = record(value);
  if (policy === undefined) return {};
  const files = list(policy['files']).flatMap((entry): FilePolicy[] => named(entry, 'path'));
  const units = list(policy['units']).flatMap((entry): UnitPolicy[] => named(entry, 'name'));
  const sshkey = actionsOf(record(policy['sshkey'])?.['actions']);
  return {
    ...(files.length === 0 ? {} : { files }),
    ...(units.length === 0 ? {} : { units }),
    ...(sshkey === undefined ? {} : { sshkey: { actions: sshkey } }),
  };
}

function named<K extends 'path' | 'name'>(
  value: unknown,
  key: K,
): (Record<K, string> & { readonly actions: readonly DisruptionAction[] })[] {
  const entry = record(value);
  const name = entry?.[key];
  const actions = actionsOf(entry?.['actions']);
  if (typeof name !== 'string' || name === '' || actions === undefined) return [];
  return [{ [key]: name, actions } as Record<K, string> & { actions: typeof actions }];
}

function actionsOf(value: unknown): readonly DisruptionAction[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const actions = value.map(actionOf);
  return actions.every((action) => action !== undefined) ? actions : undefined;
}

function actionOf(value: unknown): DisruptionAction | undefined {
  const action = record(value);
  const type = PLAIN.find((plain) => plain === action?.['type']);
  if (type !== undefined) return { type };
  if (action?.['type'] === 'Reload') {
    const serviceName = serviceOf(action['reload']);
    return serviceName === undefined ? undefined : { type: 'Reload', reload: { serviceName } };
  }
  if (action?.['type'] === 'Restart') {
    const serviceName = serviceOf(action['restart']);
    return serviceName === undefined ? undefined : { type: 'Restart', restart: { serviceName } };
  }
  return undefined;
}

function serviceOf(value: unknown): string | undefined {
  const name = record(value)?.['serviceName'];
  if (typeof name !== 'string' || name === '') return undefined;
  // MCO's CRD accepts it, and the host would stop itself in the middle of its update.
  return isOwnService(name) ? undefined : name;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
