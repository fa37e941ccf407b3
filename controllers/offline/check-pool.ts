/** Every reason that would keep a pool from being rendered, at its place. */

import type { ManifestObject } from '../../adapters/manifests';
import { failureName, messageOf } from '../../core/errors';
import {
  admissionProblems,
  type AdmissionProblem,
  generatedElsewhereText,
  type ImageOverride,
  inMergeOrder,
  type MachineConfig,
} from '../../core/machine-config';
import { ANNOTATION } from '../../core/names';
import { grubSyntaxIn } from '../../core/os';
import { checkMaxUnavailable } from '../../core/pool/capacity';
import type { MachineConfigPool } from '../../core/pool/types';
import { compileSelector } from '../../core/selectors';
import { configSelector, selectSources } from '../render/pool-sources';
import { renderPool, type PoolRender } from '../render/render-pool';
import { renderPorts } from '../render/render-ports';
import { renderedObject } from '../render/rendered-object';
import type { OfflineCheck } from './check';
import { attempt, type Blame, reportProblems } from './failures';
import type { Findings } from './findings';
import type { OfflineView } from './offline-view';
import { reportSound, reportTooLarge } from './together';

const SELECTOR = ['spec', 'machineConfigSelector'];
const NOTHING_SELECTED = [
  'selects no MachineConfig among the manifests',
  'correct the selector or the labels, or say with --partial that the rest is in the cluster',
] as const;

/**
 * Undefined when a finding prevents it, or the rendered config depends on objects outside the
 * manifests.
 */
export function checkPool(check: OfflineCheck, pool: MachineConfigPool): PoolRender | undefined {
  const { view, version, findings, isComplete, rest } = check;
  const written = view.written('MachineConfigPool', pool.metadata.name);
  if (written === undefined) return undefined;
  checkFields(pool, written, findings);
  if (rest !== 'elsewhere') checkPinned(pool, written, check);
  const selector = attempt(() => configSelector(pool), written, findings);
  if (selector === undefined) return undefined;
  if (selector.empty) {
    const fix = `select by label, for example machineconfiguration.openshift.io/role: ${pool.metadata.name}`;
    findings.error(written, SELECTOR, 'selects every MachineConfig, so nothing is rendered', fix);
    return undefined;
  }
  const sources = selectSources(view, selector);
  const isKnown = isComplete && !view.isIncomplete(selector);
  if (sources.length === 0 && (!isKnown || rest !== 'none')) {
    if (isKnown && rest === 'unknown') findings.warning(written, SELECTOR, ...NOTHING_SELECTED);
    return undefined;
  }
  reportGenerations(sources, written, check);
  const labelled = reportUnlabelled(sources, check);
  const isFine = reportAdmission(sources, check) && labelled.length === sources.length;
  if (!isFine || rest === 'elsewhere') reportSound(labelled, pool, check);
  if (rest === 'elsewhere') reportTooLarge(sources, pool, check);
  const isRead = !view.isIncomplete(selector) && !view.lacks('OSImageStream');
  if (!isFine || rest === 'elsewhere' || !isRead) return undefined;
  const render = (): PoolRender | undefined => {
    const result = renderOrReport(view, pool, version, findings);
    // Refuses what the API server could not store.
    if (result !== undefined) renderedObject(result.rendered, pool);
    if (result !== undefined) reportOverrides(result.rendered.imageOverrides, check);
    return result;
  };
  return attempt(render, blamed(view, pool, version), findings);
}

/** Several pools may select the same MachineConfig. */
function reportOverrides(
  overrides: readonly ImageOverride[],
  { view, findings }: OfflineCheck,
): void {
  for (const { field, machineConfig, instead } of overrides) {
    const written = view.written('MachineConfig', machineConfig);
    if (written === undefined) continue;
    const problem = `wins over ${instead} of the cluster`;
    findings.note(written, ['spec', field], problem, 'remove it to have that of the cluster');
  }
}

/** Problems of the merged config have places in the manifests, too. */
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
  attempt(
    () => {
      checkMaxUnavailable(pool);
    },
    written,
    findings,
  );
}

/** They may be in the cluster already. */
function checkPinned(
  pool: MachineConfigPool,
  written: ManifestObject,
  { view, findings }: OfflineCheck,
): void {
  for (const [index, { name }] of (pool.spec.pinnedImageSets ?? []).entries()) {
    if (view.written('PinnedImageSet', name) !== undefined) continue;
    const path = ['spec', 'pinnedImageSets', index, 'name'];
    const problem = `there is no PinnedImageSet ${name} among the manifests`;
    findings.warning(written, path, problem, 'add it, or remove the entry');
  }
}

/** GRUB changes them on their way to the kernel. */
function reportGrubSyntax(
  sources: readonly MachineConfig[],
  { view, findings }: OfflineCheck,
): void {
  for (const { metadata, spec } of sources) {
    const written = view.written('MachineConfig', metadata.name);
    for (const [i, entry] of (spec.kernelArguments ?? []).entries()) {
      const letter = grubSyntaxIn(entry);
      if (letter === undefined || written === undefined) continue;
      const problem = `GRUB reads "${letter}" as its own syntax, and the kernel gets another argument`;
      findings.warning(written, ['spec', 'kernelArguments', i], problem, `write "\\${letter}"`);
    }
  }
}

/** Merging reports only the first MachineConfig without labels. */
function reportUnlabelled(
  sources: readonly MachineConfig[],
  { view, findings }: OfflineCheck,
): readonly MachineConfig[] {
  return sources.filter((machineConfig) => {
    const { name } = machineConfig.metadata;
    const written = view.written('MachineConfig', name);
    const merge = (): unknown => inMergeOrder([{ name, machineConfig }]);
    return written === undefined || attempt(merge, written, findings) !== undefined;
  });
}

/**
 * Reports what no node could apply, and possible mistakes. False = some node could not apply it.
 */
export function reportAdmission(sources: readonly MachineConfig[], check: OfflineCheck): boolean {
  const { view, findings, rest } = check;
  reportGrubSyntax(sources, check);
  const problems = admissionProblems(sources, renderPorts, { isWhole: rest !== 'elsewhere' });
  reportProblems(problems, view, findings);
  return problems.length === 0;
}

/** Other controllers generated them: they no longer change with the cluster. */
export function reportGenerations(
  sources: readonly MachineConfig[],
  written: ManifestObject,
  { version, findings }: OfflineCheck,
): void {
  const text = generatedElsewhereText(sources, version);
  if (text === '') return;
  const fix = `remove the annotation ${ANNOTATION.GENERATED_BY_CONTROLLER_VERSION} from those that you keep as your own`;
  findings.note(written, [], text, fix);
}

const MAX_SUSPECTS = 200;

/** The object that a failure names, or the MachineConfig that causes it, or the pool. */
function blamed(view: OfflineView, pool: MachineConfigPool, version: string): Blame {
  return (error) => {
    const { details } = error as { readonly details?: Readonly<Record<string, unknown>> };
    const { machineConfig: name, controllerConfig, pool: named } = details ?? {};
    if (typeof named === 'string') return view.written('MachineConfigPool', named);
    if (typeof controllerConfig === 'string')
      return view.written('ControllerConfig', controllerConfig);
    const culprit = typeof name === 'string' ? name : culpritOf(view, pool, version);
    return (
      (culprit === undefined ? undefined : view.written('MachineConfig', culprit)) ??
      view.written('MachineConfigPool', pool.metadata.name)
    );
  };
}

/** The MachineConfig without which the pool renders, if there is exactly one. */
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
