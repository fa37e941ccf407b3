/** All checks of `slipway doctor`. One that fails is a finding itself. */

import { VERSION } from '../../process/version';
import { messageOf } from '../../core/errors';
import type { ClusterView } from '../ports';
import { certificates } from './certificates';
import { orderKeys } from './order-keys';
import { server } from './server';
import { problem, type Finding } from './finding';
import { access, apiServer, crds, mco, processes } from './kubernetes';
import {
  bundles,
  clocks,
  hostWorkers,
  otherVersions,
  pools,
  unheardHosts,
  updaters,
} from './nodes';
import { operator } from './operator';
import type { DoctorCluster, DoctorTemporal, InstalledDeployment } from './ports';
import { clusterWorkers, histories, temporalServer } from './temporal';

export interface Patient {
  readonly cluster: DoctorCluster;
  /** @throws `ObjectNotFound` where the kinds are not installed */
  readonly view: () => Promise<ClusterView>;
  /** @throws when Temporal does not answer */
  readonly temporal: () => Promise<DoctorTemporal>;
  readonly nowMs: number;
}

type Check = () => Promise<readonly Finding[]>;

/** In the order in which things depend on each other. */
export async function examine(patient: Patient): Promise<readonly Finding[]> {
  const { cluster } = patient;
  const reached = await judged(`Kubernetes at ${cluster.server}`, REACH_KUBERNETES, () =>
    apiServer(cluster),
  );
  // Without an API server nothing else of the cluster can be said.
  const isThere = reached.every(({ level }) => level !== 'problem');
  const ofCluster = isThere ? await inCluster(patient) : [];
  return [...reached, ...ofCluster];
}

const REACH_KUBERNETES = 'name another one with --kubeconfig or --context';
const REACH_TEMPORAL = 'name another one with --temporal-address';
const INSTALL_CRDS = 'kubectl apply -f deploy/crds';
const ASK_AN_ADMINISTRATOR = 'run it as an administrator of the cluster';

async function inCluster({ cluster, view, temporal, nowMs }: Patient): Promise<readonly Finding[]> {
  const seen = settled(view());
  const opened = settled(temporal());
  const deployments = settled(cluster.deployments());
  const checks: readonly (readonly [object: string, mend: string, check: Check])[] = [
    ['customresourcedefinitions', ASK_AN_ADMINISTRATOR, () => crds(cluster)],
    ['other operators', ASK_AN_ADMINISTRATOR, () => mco(cluster)],
    ['deployments of slipway', ASK_AN_ADMINISTRATOR, () => processes(cluster)],
    ['serviceaccounts of slipway', ASK_AN_ADMINISTRATOR, () => access(cluster)],
    ['slipway cluster', ASK_AN_ADMINISTRATOR, () => operator(cluster)],
    [
      'certificates of slipway',
      ASK_AN_ADMINISTRATOR,
      async () => ((await deployments()).length === 0 ? [] : certificates(cluster, nowMs)),
    ],
    [
      'keys of orders',
      ASK_AN_ADMINISTRATOR,
      async () => ((await deployments()).length === 0 ? [] : orderKeys(cluster)),
    ],
    ['service slipway/slipway-server', ASK_AN_ADMINISTRATOR, () => server(cluster)],
    ['Temporal', REACH_TEMPORAL, async () => temporalServer(await opened())],
    [
      'cluster workers',
      REACH_TEMPORAL,
      async () => clusterWorkers(await opened(), await readyWorkers(deployments())),
    ],
    ['histories in Temporal', REACH_TEMPORAL, async () => histories(await opened())],
    ['machineconfigpools', INSTALL_CRDS, async () => pools(await seen())],
    ['host workers', INSTALL_CRDS, async () => unheardHosts(await seen())],
    ['host workers', INSTALL_CRDS, async () => otherVersions(await seen(), VERSION)],
    ['host workers', REACH_TEMPORAL, async () => hostWorkers(await seen(), await opened())],
    ['other updaters', INSTALL_CRDS, async () => updaters(await seen())],
    ['machine certificates', INSTALL_CRDS, async () => bundles(await seen())],
    [
      'clocks',
      ASK_AN_ADMINISTRATOR,
      async () => {
        const [leases, { at }] = await Promise.all([cluster.nodeLeases(), cluster.whoAmI()]);
        return clocks(await seen(), leases, { at, nowMs });
      },
    ],
  ];
  const findings: Finding[] = [];
  for (const [object, mend, check] of checks) findings.push(...(await judged(object, mend, check)));
  return withoutRepetition(findings);
}

/** Undefined = they run elsewhere, or the question was refused, which another check says. */
async function readyWorkers(
  deployments: Promise<readonly InstalledDeployment[]>,
): Promise<number | undefined> {
  const found = await deployments.catch(() => []);
  return found.find(({ name }) => name === 'slipway-cluster-worker')?.ready;
}

async function judged(object: string, mend: string, check: Check): Promise<readonly Finding[]> {
  try {
    return await check();
  } catch (error) {
    return [problem(object, messageOf(error), mend)];
  }
}

/** Asked once; whoever needs the answer gets it, or the failure. */
function settled<T>(promise: Promise<T>): () => Promise<T> {
  promise.catch(() => undefined);
  return () => promise;
}

/** What does not answer is said once. */
function withoutRepetition(findings: readonly Finding[]): readonly Finding[] {
  const said = new Set<string>();
  return findings.filter(({ level, says }) => {
    if (level === 'ok') return true;
    const isNew = !said.has(says);
    said.add(says);
    return isNew;
  });
}
