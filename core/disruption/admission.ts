/**
 * The CRD's rules for a MachineConfiguration beside its shape, in the same words, for checks
 * without an API server.
 */

import type { FieldProblem } from '../field-problem';
import { isOwnService } from '../names';

type Path = FieldProblem['path'];

/** The checked part of the object; its shape is valid. */
export interface DisruptionSource {
  readonly irreconcilableValidationOverrides?: {
    readonly storage?: readonly string[] | undefined;
  };
  readonly nodeDisruptionPolicy?: PolicySource;
}

/** Of the shape of `nodeDisruptionPolicy`; its rules may be broken. */
export interface PolicySource {
  readonly files?: readonly ({ readonly path: string } & ActionsSource)[] | undefined;
  readonly units?: readonly ({ readonly name: string } & ActionsSource)[] | undefined;
  readonly sshkey?: ActionsSource | undefined;
}

interface ActionsSource {
  readonly actions: readonly ActionSource[];
}

export interface ActionSource {
  readonly type: string;
  readonly reload?: ServiceSource | undefined;
  readonly restart?: ServiceSource | undefined;
}

interface ServiceSource {
  readonly serviceName: string;
}

const UNIT_SUFFIXES =
  'service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope';
const UNIT_NAME = new RegExp(`^[a-zA-Z0-9:._@\\\\-]+\\.(${UNIT_SUFFIXES})$`);

export const OVERRIDES_PROBLEM: FieldProblem = {
  path: ['spec', 'irreconcilableValidationOverrides', 'storage'],
  problem:
    'Slipway does not let disks, filesystems or RAID of a running machine differ from its config',
  fix: 'remove the overrides, and make a new machine where those must change',
};

/** Every broken rule of `deploy/crds`, in its order. */
export function disruptionProblems(spec: DisruptionSource): readonly FieldProblem[] {
  return [
    ...overrideProblems(spec),
    ...policyProblems(spec.nodeDisruptionPolicy ?? {}, ['spec', 'nodeDisruptionPolicy']),
  ];
}

/** @param at - the place of the policies in their object */
export function policyProblems(policies: PolicySource, at: Path): readonly FieldProblem[] {
  const { files = [], units = [], sshkey } = policies;
  return [
    ...duplicates(files, 'path', [...at, 'files']),
    ...files.flatMap(({ path }, i) => pathProblems(path, [...at, 'files', i, 'path'])),
    ...files.flatMap(({ actions }, i) => entryProblems(actions, [...at, 'files', i, 'actions'])),
    ...duplicates(units, 'name', [...at, 'units']),
    ...units.flatMap(({ name }, i) => nameProblems(name, [...at, 'units', i, 'name'])),
    ...units.flatMap(({ actions }, i) => entryProblems(actions, [...at, 'units', i, 'actions'])),
    // As in MCO, the default counts for SSH keys without actions.
    ...actionProblems(sshkey?.actions ?? [], [...at, 'sshkey', 'actions']),
  ];
}

function overrideProblems({
  irreconcilableValidationOverrides: overrides,
}: DisruptionSource): readonly FieldProblem[] {
  return (overrides?.storage ?? []).length === 0 ? [] : [OVERRIDES_PROBLEM];
}

/** Each key may appear once in a list. */
function duplicates<K extends string>(
  entries: readonly Readonly<Record<K, string>>[],
  key: K,
  at: Path,
): readonly FieldProblem[] {
  const names = entries.map((entry) => entry[key]);
  return names.flatMap((name, i) =>
    names.indexOf(name) === i
      ? []
      : [
          {
            path: [...at, i, key],
            problem: `${key} "${name}" has an entry already`,
            fix: 'put the actions of both into one entry',
          },
        ],
  );
}

function pathProblems(path: string, at: Path): readonly FieldProblem[] {
  if (!path.startsWith('/')) {
    return [{ path: at, problem: 'path must be absolute', fix: 'begin it with /' }];
  }
  if (path === '/') {
    const fix = 'name a file, or a directory below /';
    return [{ path: at, problem: 'path / covers no file', fix }];
  }
  if (!/\/\/|\/[.][.]?(\/|$)/.test(path)) return [];
  const problem = 'path must not contain //, /./ or /../, which the path of no file has';
  return [{ path: at, problem, fix: 'write it without them' }];
}

function nameProblems(name: string, at: Path): readonly FieldProblem[] {
  if (UNIT_NAME.test(name)) return [];
  const problem = 'name must be that of a systemd unit with its suffix, for example crio.service';
  return [{ path: at, problem, fix: 'write the whole name of the unit' }];
}

function entryProblems(actions: ActionsSource['actions'], at: Path): readonly FieldProblem[] {
  if (actions.length > 0) return actionProblems(actions, at);
  const fix = 'write {type: None} where a change costs nothing, or remove the entry';
  return [{ path: at, problem: 'actions must not be empty', fix }];
}

function actionProblems(actions: ActionsSource['actions'], at: Path): readonly FieldProblem[] {
  const found: FieldProblem[] = [];
  const firstOf = (type: string): Path => [...at, actions.findIndex((one) => one.type === type)];
  const isAmong = (type: string): boolean => actions.some((one) => one.type === type);
  if (actions.length > 1 && isAmong('Reboot')) {
    const problem = 'a Reboot action must be the only one';
    found.push({ path: firstOf('Reboot'), problem, fix: 'remove the others' });
  }
  if (actions.length > 1 && isAmong('None')) {
    const problem = 'a None action must be the only one';
    found.push({ path: firstOf('None'), problem, fix: 'remove it or the others' });
  }
  actions.forEach((action, i) => {
    found.push(...serviceProblems(action.type === 'Reload', 'reload', action.reload, [...at, i]));
    found.push(
      ...serviceProblems(action.type === 'Restart', 'restart', action.restart, [...at, i]),
    );
  });
  return found;
}

function serviceProblems(
  isWanted: boolean,
  field: 'reload' | 'restart',
  service: ServiceSource | undefined,
  at: Path,
): readonly FieldProblem[] {
  const type = field === 'reload' ? 'Reload' : 'Restart';
  if (isWanted !== (service !== undefined)) {
    const problem = `${field} belongs to type ${type}, and only to it`;
    const path = service === undefined ? at : [...at, field];
    return [{ path, problem, fix: `write ${field}: {serviceName: <name>.service}` }];
  }
  if (service === undefined) return [];
  const path = [...at, field, 'serviceName'];
  if (isOwnService(service.serviceName)) {
    return [
      {
        path,
        problem: 'a host cannot restart or reload its own worker in the middle of an update',
        fix: 'use a Reboot action, which starts it again, too',
      },
    ];
  }
  if (UNIT_NAME.test(service.serviceName)) return [];
  return [
    {
      path,
      problem: 'serviceName must be a systemd unit name with its suffix, for example crio.service',
      fix: `write the whole name of the unit instead of "${service.serviceName}"`,
    },
  ];
}
