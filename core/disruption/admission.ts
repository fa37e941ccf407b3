/**
 * The CRD's rules for a MachineConfiguration beside its shape, in the same words, for checks
 * without an API server.
 */

import { isOwnService } from '../names';

/** `path` leads to the field from the object. */
export interface PolicyProblem {
  readonly path: readonly (string | number)[];
  readonly problem: string;
  readonly fix: string;
}

type Path = PolicyProblem['path'];

/** The checked part of the object; its shape is valid. */
export interface DisruptionSource {
  readonly irreconcilableValidationOverrides?: {
    readonly storage?: readonly string[] | undefined;
  };
  readonly nodeDisruptionPolicy?: {
    readonly files?: readonly ({ readonly path: string } & ActionSource)[] | undefined;
    readonly units?: readonly ({ readonly name: string } & ActionSource)[] | undefined;
    readonly sshkey?: ActionSource | undefined;
  };
}

interface ActionSource {
  readonly actions: readonly {
    readonly type: string;
    readonly reload?: ServiceSource | undefined;
    readonly restart?: ServiceSource | undefined;
  }[];
}

interface ServiceSource {
  readonly serviceName: string;
}

const UNIT_SUFFIXES =
  'service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope';
const UNIT_NAME = new RegExp(`^[a-zA-Z0-9:._@\\\\-]+\\.(${UNIT_SUFFIXES})$`);

/** Every broken rule of `deploy/crds`, in its order. */
export function disruptionProblems(spec: DisruptionSource): readonly PolicyProblem[] {
  const { files = [], units = [], sshkey } = spec.nodeDisruptionPolicy ?? {};
  const at = ['spec', 'nodeDisruptionPolicy'];
  return [
    ...overrideProblems(spec),
    ...duplicates(files, 'path', [...at, 'files']),
    ...files.flatMap(({ path }, i) => pathProblems(path, [...at, 'files', i, 'path'])),
    ...files.flatMap(({ actions }, i) => actionProblems(actions, [...at, 'files', i, 'actions'])),
    ...duplicates(units, 'name', [...at, 'units']),
    ...units.flatMap(({ actions }, i) => actionProblems(actions, [...at, 'units', i, 'actions'])),
    ...actionProblems(sshkey?.actions ?? [], [...at, 'sshkey', 'actions']),
  ];
}

function overrideProblems({
  irreconcilableValidationOverrides: overrides,
}: DisruptionSource): readonly PolicyProblem[] {
  if ((overrides?.storage ?? []).length === 0) return [];
  return [
    {
      path: ['spec', 'irreconcilableValidationOverrides', 'storage'],
      problem:
        'Slipway does not let disks, filesystems or RAID of a running machine differ from its config',
      fix: 'remove the overrides, and make a new machine where those must change',
    },
  ];
}

/** Each key may appear once in a list. */
function duplicates<K extends string>(
  entries: readonly Readonly<Record<K, string>>[],
  key: K,
  at: Path,
): readonly PolicyProblem[] {
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

function pathProblems(path: string, at: Path): readonly PolicyProblem[] {
  if (path.startsWith('/')) return [];
  return [{ path: at, problem: 'path must be absolute', fix: 'begin it with /' }];
}

function actionProblems(actions: ActionSource['actions'], at: Path): readonly PolicyProblem[] {
  const found: PolicyProblem[] = [];
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
): readonly PolicyProblem[] {
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
