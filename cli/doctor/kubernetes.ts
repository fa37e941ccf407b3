/** The API server, Slipway's kinds, its processes and what they may do. */

import { failureName } from '../../core/errors';
import { inParallel } from '../../core/concurrency-limit';
import { fewNames } from '../../core/few';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  POOL_ROLLOUTS,
  ROLLOUT_POLICIES,
  SLIPWAYS,
} from '../../adapters/kube/resources';
import { accessOf, inWords, PROCESS_NAMES, RULES, type ProcessName } from './access-rules';
import { ok, orOk, problem, warning, type Finding } from './finding';
import type { DoctorCluster, InstalledCrd, InstalledDeployment } from './ports';
import { olderThan } from './tested-version';

/** With which Slipway is tested. */
const TESTED = '1.36';

const INSTALL = 'kubectl apply -k site (docs/install.md#4-the-processes)';

export async function apiServer(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const [version, { user }] = await Promise.all([cluster.version(), cluster.whoAmI()]);
  const object = `Kubernetes at ${cluster.server}`;
  const says = olderThan(TESTED, version);
  if (says === undefined) return [ok(object, `${version}; you are ${user}`)];
  return [warning(object, says, `kubectl version, and upgrade the cluster to ${TESTED}`)];
}

const KINDS = [
  ...[MACHINE_CONFIGS, MACHINE_CONFIG_POOLS, MACHINE_CONFIG_NODES, CONTROLLER_CONFIGS],
  ...[MACHINE_CONFIGURATIONS, ROLLOUT_POLICIES, POOL_ROLLOUTS, SLIPWAYS],
];

/** Name of its CustomResourceDefinition → version that Slipway asks for. */
export const CRDS: ReadonlyMap<string, string> = new Map(
  KINDS.map(({ plural, group, version }) => [`${plural}.${group}`, version]),
);

export async function crds(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const installed = new Map((await cluster.crds()).map((crd) => [crd.name, crd]));
  const findings = [...CRDS].flatMap(([name, version]) => {
    const says = whatIsWrong(installed.get(name), version);
    const object = `customresourcedefinition ${name}`;
    return says === undefined ? [] : [problem(object, says, 'kubectl apply -f deploy/crds')];
  });
  return orOk(findings, 'customresourcedefinitions', `all ${CRDS.size} are served`);
}

function whatIsWrong(crd: InstalledCrd | undefined, version: string): string | undefined {
  if (crd === undefined) return 'is not installed';
  if (!crd.servedVersions.includes(version)) return `does not serve version ${version}`;
  return crd.isEstablished ? undefined : 'is not established yet';
}

export async function processes(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const installed = await cluster.deployments();
  if (installed.length === 0) {
    const says = 'has none of Slipway: its processes run elsewhere, or are not installed';
    return [warning('namespace slipway', says, INSTALL)];
  }
  const byName = new Map(installed.map((one) => [one.name, one]));
  const findings = PROCESS_NAMES.flatMap((name) => ofProcess(name, byName.get(name)));
  return [...findings, ...differentImages(installed)];
}

function ofProcess(name: ProcessName, found: InstalledDeployment | undefined): readonly Finding[] {
  const object = `deployment slipway/${name}`;
  if (found === undefined) return [problem(object, 'is not there', INSTALL)];
  const { ready, wanted } = found;
  const says = `${ready} of ${wanted} replicas are ready`;
  if (ready >= wanted && ready > 0) return [ok(object, says)];
  const mend = `kubectl -n slipway describe pods -l app.kubernetes.io/name=${name}`;
  return [ready === 0 ? problem(object, says, mend) : warning(object, says, mend)];
}

/** Versions may differ for as long as an upgrade takes. */
function differentImages(installed: readonly InstalledDeployment[]): readonly Finding[] {
  const images = [...new Set(installed.flatMap((one) => one.images))];
  if (images.length <= 1) return [];
  const says = `run different images: ${fewNames(images)}`;
  return [warning('deployments of slipway', says, INSTALL)];
}

const QUESTIONS_AT_ONCE = 8;

/** Asked for their ServiceAccounts. */
export async function access(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const questions = PROCESS_NAMES.flatMap((process) =>
    RULES[process].flatMap((rule) => accessOf(rule).map((one) => ({ process, one }))),
  );
  try {
    const answers = await inParallel(questions, QUESTIONS_AT_ONCE, async ({ process, one }) => ({
      ...{ process, one },
      isAllowed: await cluster.mayDo(`system:serviceaccount:slipway:${process}`, one),
    }));
    const findings = PROCESS_NAMES.flatMap((process) => {
      const missing = answers
        .filter((answer) => answer.process === process && !answer.isAllowed)
        .map(({ one }) => inWords(one));
      if (missing.length === 0) return [];
      const says = `may not ${fewNames(missing)}`;
      return [problem(`serviceaccount slipway/${process}`, says, 'kubectl apply -f deploy/rbac')];
    });
    return orOk(findings, 'serviceaccounts of slipway', 'may do what they must');
  } catch (error) {
    if (failureName(error) !== 'ApiForbidden') throw error;
    const says = 'you may not ask what they may do (create subjectaccessreviews)';
    return [warning('serviceaccounts of slipway', says, 'run it as an administrator')];
  }
}

export async function mco(cluster: DoctorCluster): Promise<readonly Finding[]> {
  const found = await cluster.mco();
  if (found === undefined) return [];
  const says = "belongs to OpenShift's Machine Config Operator, which changes the same nodes";
  return [problem(found, says, 'switch one of the two off (docs/install.md)')];
}
