/** Failures of the controllers as findings, at the place to correct. */

import type { ManifestObject } from '../../adapters/manifests';
import { FAILURES, failureName, messageOf } from '../../core/errors';
import type { AdmissionProblem } from '../../core/machine-config';
import { LABEL } from '../../core/names';
import { fieldPath, type Findings } from './findings';
import type { OfflineView } from './offline-view';

export type Blame = (error: unknown) => ManifestObject | undefined;

/** Undefined after a finding. */
export function attempt<T>(
  work: () => T,
  written: ManifestObject | Blame,
  findings: Findings,
): T | undefined {
  try {
    return work();
  } catch (error) {
    const name = failureName(error);
    if (name === undefined || FAILURES[name].kind !== 'stalled') throw error;
    const { details } = error as { readonly details?: { readonly field?: unknown } };
    const object = typeof written === 'function' ? written(error) : written;
    if (object === undefined) throw error;
    const field = typeof details?.field === 'string' ? details.field : DEFAULT_FIELDS[name];
    const path = field === undefined ? [] : fieldPath(field);
    findings.error(object, path, ...split(messageOf(error), object.name, field ?? '', name));
    return undefined;
  }
}

const LABEL_FIX = `add the label ${LABEL.ROLE} with the name of its pool`;

const DEFAULT_FIELDS: Readonly<Record<string, string>> = {
  NoMachineConfigs: 'spec.machineConfigSelector',
};

/** The fix, and the message without object and field. */
function split(
  message: string,
  object: string,
  field: string,
  name: keyof typeof FAILURES,
): [problem: string, fix: string] {
  const prefixes = [
    `machineconfigpool ${object}: `,
    `controllerconfig ${object}: `,
    'rolloutpolicy: ',
    `${field}: `,
    `${field} `,
  ];
  const text = prefixes.reduce(
    (rest, prefix) => (rest.startsWith(prefix) ? rest.slice(prefix.length) : rest),
    message,
  );
  if (field === 'metadata.labels') return [text, LABEL_FIX];
  if (name === 'Unreconcilable') return [reasonOf(text), FAILURES[name].next];
  const at = text.lastIndexOf('; ');
  return at < 0 ? [onOneLine(text), FAILURES[name].next] : [text.slice(0, at), text.slice(at + 2)];
}

/** Without the names of both configs. */
function reasonOf(text: string): string {
  const [reason = text] = text.split('; component errors: ');
  return onOneLine(
    reason.replace(/^.*? is not reconcilable against "[^"]*": |^.*? base config "[^"]*": /s, ''),
  );
}

function onOneLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ');
}

export function reportProblems(
  problems: readonly AdmissionProblem[],
  view: OfflineView,
  findings: Findings,
): void {
  for (const { machineConfig, field, problem, fix } of problems) {
    const written = view.written('MachineConfig', machineConfig);
    if (written !== undefined) findings.error(written, fieldPath(field), problem, fix);
  }
}
