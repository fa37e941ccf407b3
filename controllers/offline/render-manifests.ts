/** Renders pools from manifests, or finds every reason against it. */

import type { ManifestObject, ManifestProblem } from '../../adapters/manifests';
import { readTemplateFolder, shippedTemplates } from '../../adapters/templates';
import type { KubeObject } from '../../adapters/kube/resources';
import { CONTROLLER_CONFIG } from '../../core/controller-config';
import type { MachineConfigPool } from '../../core/pool/types';
import type { TemplateFolder } from '../../core/templates';
import type { PoolRender } from '../render/render-pool';
import type { Rest } from './rest';
import { checkPool } from './check-pool';
import { checkPolicy, checkUnselected, reportUseless } from './check-others';
import { Findings, type Finding } from './findings';
import { OfflineView, type EarlierConfigs } from './offline-view';

interface OfflineInput {
  readonly objects: readonly ManifestObject[];
  readonly unreadable: readonly ManifestProblem[];
  /** Empty = new machines; otherwise pools may change only what a running machine can. */
  readonly earlier: EarlierConfigs;
  /** Of the controllers in the cluster. */
  readonly version: string;
  readonly rest: Rest;
  /** Default: those that come with Slipway. */
  readonly templates?: TemplateFolder;
}

export interface OfflinePool extends PoolRender {
  readonly pool: MachineConfigPool;
}

export interface OfflineRender {
  readonly pools: readonly OfflinePool[];
  readonly controllerConfig: KubeObject | undefined;
  /** Sorted by place. */
  readonly findings: readonly Finding[];
  /** Kinds, with their number of objects. */
  readonly leftOut: ReadonlyMap<string, number>;
}

/** Does not throw for problems that a person can fix. */
export function renderManifests(input: OfflineInput): OfflineRender {
  const findings = new Findings();
  for (const problem of input.unreadable) findings.add({ severity: 'error', ...problem });
  const { templates = readTemplateFolder(shippedTemplates()) } = input;
  const view = new OfflineView(input.objects, { ...input, templates }, findings);
  const isComplete = input.unreadable.length === 0;
  const { version, rest } = input;
  const check = { view, version, findings, isComplete, rest };
  const pools = view.pools.flatMap((pool) => {
    const render = checkPool(check, pool);
    return render === undefined ? [] : [{ pool, ...render }];
  });
  checkUnselected(check);
  if (isComplete && rest !== 'elsewhere') reportUseless(view, findings);
  for (const policy of view.policies) checkPolicy(policy, view, findings);
  return {
    pools,
    controllerConfig: view.controllerConfigs.get(CONTROLLER_CONFIG),
    findings: findings.all,
    leftOut: view.leftOut,
  };
}
