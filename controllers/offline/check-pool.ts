/** What would keep a pool from being rendered, every reason at its place in the manifests. */

import type { ManifestObject } from '../../adapters/manifests';
import { FAILURES, failureName, messageOf } from '../../core/errors';
import {
  admissionProblems,
  type AdmissionProblem,
  type MachineConfig,
} from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import { checkMaxUnavailable } from '../../core/pool/capacity';
import { ignoredFields } from '../../core/pool/ignored-fields';
import type { MachineConfigPool } from '../../core/pool/types';
import { compileSelector } from '../../core/selectors';
import { configSelector, selectSources } from '../render/pool-sources';
import { renderPool, type PoolRender } from '../render/render-pool';
import { renderPorts } from '../render/render-ports';
import { renderedObject } from '../render/rendered-object';
import { fieldPath, type Findings } from './findings';
import type { OfflineView } from './offline-view';

export interface PoolCheck {
  readonly view: OfflineView;
  readonly version: string;
  readonly findings: Findings;
  /** False = some manifests cannot be read, so that nothing can be said to be missing. */
  readonly isComplete: boolean;
}

/** Renders the pool; undefined when something is in the way, which is then among the findings. */
export function checkPool(
  { view, version, findings, isComplete }: PoolCheck,
  pool: MachineConfigPool,
): PoolRender | undefined {
  const written = view.written('MachineConfigPool', pool.metadata.name);
  if (written === undefined) return undefined;
  checkFields(pool, written, findings);
  const selector = attempt(() => configSelector(pool), written, findings);
  if (selector === undefined) return undefined;
  if (selector.empty) {
    const fix = `select by label, for example machineconfiguration.openshift.io/role: ${pool.metadata.name}`;
    const path = ['spec', 'machineConfigSelector'];
    findings.error(written, path, 'selects every MachineConfig, so nothing is rendered', fix);
    return undefined;
  }
  const sources = selectSources(view, selector);
  const isFine = [
    reportAdmission(sources, view, findings),
    reportGenerations(sources, view, version, findings),
  ].every(Boolean);
  const isWhole = !view.isIncomplete(selector) && (isComplete || sources.length > 0);
  if (!isFine) reportSound(sources, pool, { view, version, findings, isComplete });
  if (!isFine || !isWhole) return undefined;
  const render = (): PoolRender | undefined => {
    const result = renderOrReport(view, pool, version, findings);
    // What the API server could not store is refused here, as when it is created.
    if (result !== undefined) renderedObject(result.rendered, pool);
    return result;
  };
  return attempt(render, blamed(view, pool, version), findings);
}

/**
 * What MachineConfigs without a problem of their own would come to together, so that a person hears of
 * everything at once. What the others may bring (contents of a file, a base to compare with) is not missed.
 */
function reportSound(
  sources: readonly MachineConfig[],
  pool: MachineConfigPool,
  { view, version, findings }: PoolCheck,
): void {
  const sound = sources.filter((source) => admissionProblems([source], renderPorts).length === 0);
  if (sound.length === 0) return;
  const machineConfigs = { get: () => undefined, list: () => sound };
  try {
    renderPool({ ...view, machineConfigs }, pool, version);
  } catch (error) {
    if (failureName(error) === undefined) throw error;
    const { details } = error as { details?: { problems?: readonly AdmissionProblem[] } };
    reportProblems(details?.problems ?? [], view, findings);
  }
}

/** What only shows in the merged config has its places, too. */
function renderOrReport(
  view: OfflineView,
  pool: MachineConfigPool,
  version: string,
  findings: Findings,
): PoolRender | undefined {
  try {
    return renderPool(view, pool, version);
  } catch (error) {
    const { details } = error as { details?: { problems?: readonly AdmissionProblem[] } };
    if (details?.problems === undefined) throw error;
    reportProblems(details.problems, view, findings);
    return undefined;
  }
}

function checkFields(pool: MachineConfigPool, written: ManifestObject, findings: Findings): void {
  const { name } = pool.metadata;
  if (pool.spec.nodeSelector === undefined) {
    findings.error(
      written,
      ['spec', 'nodeSelector'],
      'is missing, so the pool would have no nodes',
      `add for example matchLabels: {"node-role.kubernetes.io/${name}": ""}`,
    );
  } else {
    try {
      compileSelector(pool.spec.nodeSelector);
    } catch (error) {
      findings.error(written, ['spec', 'nodeSelector'], messageOf(error), 'correct the selector');
    }
  }
  for (const field of ignoredFields(pool)) {
    const fix = 'remove it, so that nobody relies on it';
    findings.warning(written, ['spec', field], 'is not acted upon', fix);
  }
  attempt(
    () => {
      checkMaxUnavailable(pool);
    },
    written,
    findings,
  );
}

/** Reports what no node could apply. False = there is something. */
export function reportAdmission(
  sources: readonly MachineConfig[],
  view: OfflineView,
  findings: Findings,
): boolean {
  const problems = admissionProblems(sources, renderPorts);
  reportProblems(problems, view, findings);
  return problems.length === 0;
}

function reportProblems(
  problems: readonly AdmissionProblem[],
  view: OfflineView,
  findings: Findings,
): void {
  for (const { machineConfig, field, problem, fix } of problems) {
    const written = view.written('MachineConfig', machineConfig);
    if (written !== undefined) findings.error(written, fieldPath(field), problem, fix);
  }
}

/** False = another version generated one of them, so that it would stop the pool. */
function reportGenerations(
  sources: readonly MachineConfig[],
  view: OfflineView,
  version: string,
  findings: Findings,
): boolean {
  const key = ANNOTATION.GENERATED_BY_CONTROLLER_VERSION;
  const foreign = sources.filter(({ metadata }) => {
    const by = metadata.annotations?.[key] ?? '';
    return by !== '' && by !== version;
  });
  for (const { metadata } of foreign) {
    const written = view.written('MachineConfig', metadata.name);
    if (written === undefined) continue;
    const path = ['metadata', 'annotations', key];
    findings.error(
      written,
      path,
      'says that another version of the controllers generated it',
      'remove the annotation to keep it as your own',
    );
  }
  return foreign.length === 0;
}

type Blame = (error: unknown) => ManifestObject | undefined;

/** Above this many, looking for the one to blame would take long. */
const MAX_SUSPECTS = 200;

/** The object that a failure names, or the MachineConfig without which there is none; or else the pool. */
function blamed(view: OfflineView, pool: MachineConfigPool, version: string): Blame {
  return (error) => {
    const { details } = error as { readonly details?: Readonly<Record<string, unknown>> };
    const { machineConfig: name, controllerConfig } = details ?? {};
    if (typeof controllerConfig === 'string')
      return view.written('ControllerConfig', controllerConfig);
    const culprit = typeof name === 'string' ? name : culpritOf(view, pool, version);
    return (
      (culprit === undefined ? undefined : view.written('MachineConfig', culprit)) ??
      view.written('MachineConfigPool', pool.metadata.name)
    );
  };
}

/** The one MachineConfig without which the pool can be rendered, if there is exactly one. */
function culpritOf(
  view: OfflineView,
  pool: MachineConfigPool,
  version: string,
): string | undefined {
  const sources = selectSources(view, configSelector(pool));
  if (sources.length < 2 || sources.length > MAX_SUSPECTS) return undefined;
  const culprits = sources.filter((suspect) => {
    const others = sources.filter((source) => source !== suspect);
    const machineConfigs = { get: view.machineConfigs.get, list: () => others };
    try {
      return renderPool({ ...view, machineConfigs }, pool, version) !== undefined;
    } catch (error) {
      if (failureName(error) === undefined) throw error;
      return false;
    }
  });
  return culprits.length === 1 ? culprits[0]?.metadata.name : undefined;
}

/** The result, or undefined and a finding when it fails as a person can mend. */
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

const DEFAULT_FIELDS: Readonly<Record<string, string>> = {
  NoMachineConfigs: 'spec.machineConfigSelector',
};

/** A failure's message without the object and field that stand beside it, and its fix. */
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
  if (name === 'Unreconcilable') return [reasonOf(text), FAILURES[name].next];
  const at = text.lastIndexOf('; ');
  return at < 0 ? [onOneLine(text), FAILURES[name].next] : [text.slice(0, at), text.slice(at + 2)];
}

/** Why a running machine cannot take the change, without the names of both configs. */
function reasonOf(text: string): string {
  const [reason = text] = text.split('; component errors: ');
  return onOneLine(
    reason.replace(/^.*? is not reconcilable against "[^"]*": |^.*? base config "[^"]*": /s, ''),
  );
}

function onOneLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, ' ');
}
