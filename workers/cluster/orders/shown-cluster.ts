/** What the API server shows of the node of an order: in the caches, and in a second look where these do not fit. */

import { ConfigDigests } from '../../../activities/cluster/config-digests';
import { unlessGone } from '../../../activities/cluster/known-node';
import type { ClusterPorts } from '../../../activities/cluster/ports';
import type { KubeClient } from '../../../adapters/kube/client';
import {
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGURATIONS,
  NODES,
} from '../../../adapters/kube/resources';
import { MACHINE_CONFIGURATION, policyInForce } from '../../../core/disruption';
import type { MachineConfiguration, NodeDisruptionPolicy } from '../../../core/disruption/types';
import { compareWithShown, type Shown, type ShownCluster } from '../../../core/orders';
import type { ConfigReference, HostOrder } from '../../../workflows/contracts/host';

type View = Pick<ClusterPorts['view'], 'nodes' | 'pools' | 'machineConfigurations'>;

interface ShownPorts {
  readonly view: View;
  readonly kube: Pick<KubeClient, 'get' | 'list'>;
  readonly configs: ClusterPorts['configs'];
}

/**
 * Says whether the cluster shows what an order to prepare names: the pool of the node, its target or what the node runs,
 * their digests, and the policies in force. Throws `ApiUnavailable` where the caches do not, and nobody else can say.
 */
export function confirmWith({ view, kube, configs }: ShownPorts): (o: HostOrder) => Promise<Shown> {
  const digests = new ConfigDigests(configs);
  return async (order) => {
    const inCaches = compareWithShown(order, shownInCaches(order, view));
    const shown =
      'differs' in inCaches ? compareWithShown(order, await shownByServer(order, kube)) : inCaches;
    if ('differs' in shown) return shown;
    for (const reference of [order.config, order.currentConfig]) {
      if (reference === undefined || (await isOfCluster(reference, digests))) continue;
      return { differs: `${reference.name} has another digest in the API server, or is gone` };
    }
    return shown;
  };
}

function shownInCaches({ node }: HostOrder, view: View): ShownCluster {
  return {
    node: view.nodes.get(node),
    pools: view.pools.list(),
    disruptionPolicies: policiesOf(view.machineConfigurations.get(MACHINE_CONFIGURATION)),
  };
}

async function shownByServer({ node }: HostOrder, kube: ShownPorts['kube']): Promise<ShownCluster> {
  const [found, pools, configurations] = await Promise.all([
    unlessGone(() => kube.get(NODES, { name: node })),
    kube.list(MACHINE_CONFIG_POOLS),
    unlessGone(() => kube.list(MACHINE_CONFIGURATIONS)),
  ]);
  const configuration = configurations?.items.find(
    ({ metadata }) => metadata.name === MACHINE_CONFIGURATION,
  );
  return { node: found, pools: pools.items, disruptionPolicies: policiesOf(configuration) };
}

/** As plain JSON, as an order has them. */
function policiesOf(configuration: MachineConfiguration | undefined): NodeDisruptionPolicy {
  const { policy } = policyInForce(configuration);
  return JSON.parse(JSON.stringify(policy)) as NodeDisruptionPolicy;
}

async function isOfCluster(
  { name, digest }: ConfigReference,
  digests: ConfigDigests,
): Promise<boolean> {
  return (await unlessGone(() => digests.reference(name)))?.digest === digest;
}
