/** Reads disruption policies as they are stored, with everything that is wrong with them. */

import { fieldText, type FieldStep } from '../field-path';
import type { FieldProblem } from '../field-problem';
import { isRecord } from '../is-record';
import { policyProblems, type ActionSource, type PolicySource } from './admission';
import type { DisruptionAction, NodeDisruptionPolicy } from './types';

type Path = readonly FieldStep[];
type Fields = Readonly<Record<string, unknown>>;

interface Reading {
  readonly types: readonly string[];
  readonly problems: FieldProblem[];
}

const PLAIN = ['None', 'Special', 'DaemonReload', 'Drain', 'Reboot'] as const;
const OF_PEOPLE = ['Reboot', 'Drain', 'Reload', 'Restart', 'DaemonReload', 'None'];
/** A status has the action of `registries.conf`, too. */
const OF_STATUS = [...OF_PEOPLE, 'Special'];

interface StoredPolicy {
  /** Empty where there is a problem. Each entry has its field. */
  readonly policy: NodeDisruptionPolicy;
  readonly problems: readonly FieldProblem[];
}

/**
 * The policies at a place of a MachineConfiguration, as a whole or not at all. An API server whose
 * definition of the kind is MCO's accepts more than Slipway can carry out.
 *
 * @param at - leads to `value` from the object
 */
export function readStoredPolicy(
  value: unknown,
  at: Path,
  of: 'spec' | 'status' = 'spec',
): StoredPolicy {
  const reading = { types: of === 'spec' ? OF_PEOPLE : OF_STATUS, problems: [] };
  const source = readSource(value, at, reading);
  const problems = reading.problems.length > 0 ? reading.problems : policyProblems(source, at);
  return { policy: problems.length > 0 ? {} : policyOf(source, at), problems };
}

function readSource(value: unknown, at: Path, reading: Reading): PolicySource {
  if (!isGiven(value)) return {};
  const { files, units, sshkey } = fieldsOf(value, at, reading);
  return {
    ...(isGiven(files) ? { files: filesOf(files, [...at, 'files'], reading) } : {}),
    ...(isGiven(units) ? { units: unitsOf(units, [...at, 'units'], reading) } : {}),
    ...(isGiven(sshkey) ? { sshkey: actionsIn(sshkey, [...at, 'sshkey'], reading) } : {}),
  };
}

function filesOf(value: unknown, at: Path, reading: Reading) {
  return listOf(value, at, reading).map((entry, i) => ({
    path: textIn(entry, 'path', [...at, i], reading),
    ...actionsIn(entry, [...at, i], reading),
  }));
}

function unitsOf(value: unknown, at: Path, reading: Reading) {
  return listOf(value, at, reading).map((entry, i) => ({
    name: textIn(entry, 'name', [...at, i], reading),
    ...actionsIn(entry, [...at, i], reading),
  }));
}

function actionsIn(entry: unknown, at: Path, reading: Reading) {
  const place = [...at, 'actions'];
  const list = listOf(isRecord(entry) ? entry['actions'] : undefined, place, reading);
  return { actions: list.map((action, i) => readAction(action, [...place, i], reading)) };
}

function readAction(value: unknown, at: Path, reading: Reading): ActionSource {
  const { reload, restart } = fieldsOf(value, at, reading);
  const type = textIn(value, 'type', at, reading);
  if (type !== '' && !reading.types.includes(type)) {
    const fix = `write one of ${reading.types.join(', ')}`;
    reading.problems.push({ path: [...at, 'type'], problem: 'no such type of action', fix });
  }
  const service = (given: unknown, field: string) => ({
    serviceName: textIn(given, 'serviceName', [...at, field], reading),
  });
  return {
    type,
    ...(isGiven(reload) ? { reload: service(reload, 'reload') } : {}),
    ...(isGiven(restart) ? { restart: service(restart, 'restart') } : {}),
  };
}

function textIn(entry: unknown, key: string, at: Path, { problems }: Reading): string {
  const value = isRecord(entry) ? entry[key] : undefined;
  if (typeof value === 'string' && value !== '') return value;
  problems.push({ path: [...at, key], problem: 'a text is missing', fix: 'write it' });
  return '';
}

function listOf(value: unknown, path: Path, { problems }: Reading): readonly unknown[] {
  if (Array.isArray(value)) return value;
  problems.push({
    path,
    problem: 'a list is missing',
    fix: 'write an entry per line, after a dash',
  });
  return [];
}

function fieldsOf(value: unknown, path: Path, { problems }: Reading): Fields {
  if (isRecord(value)) return value;
  problems.push({ path, problem: 'fields are missing', fix: 'write them below it, indented' });
  return {};
}

/** Go writes an absent field as null. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** @param source - breaks no rule */
function policyOf({ files, units, sshkey }: PolicySource, at: Path): NodeDisruptionPolicy {
  const rule = (actions: readonly ActionSource[], ...steps: Path) => ({
    actions: actions.map(actionOf),
    field: fieldText([...at, ...steps]),
  });
  return {
    ...(files === undefined
      ? {}
      : { files: files.map(({ path, actions }, i) => ({ path, ...rule(actions, 'files', i) })) }),
    ...(units === undefined
      ? {}
      : { units: units.map(({ name, actions }, i) => ({ name, ...rule(actions, 'units', i) })) }),
    ...(sshkey === undefined ? {} : { sshkey: rule(sshkey.actions, 'sshkey') }),
  };
}

function actionOf({ type, reload, restart }: ActionSource): DisruptionAction {
  if (reload !== undefined) return { type: 'Reload', reload: { serviceName: reload.serviceName } };
  if (restart !== undefined) {
    return { type: 'Restart', restart: { serviceName: restart.serviceName } };
  }
  const plain = PLAIN.find((one) => one === type);
  // The rules leave no other type; what nobody knows costs most.
  return { type: plain ?? 'Reboot' };
}
