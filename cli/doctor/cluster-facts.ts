import type { KubeClient } from '../../adapters/kube/client';
import { findMco } from '../../adapters/kube/mco-presence';
import { mayDo, whoAmI } from '../../adapters/kube/reviews';
import { unlessAbsent } from '../../adapters/kube/unless-absent';
import {
  CLUSTER_OPERATORS,
  CONFIG_MAPS,
  type KubeObject,
  LEASES,
  type Resource,
  DEPLOYMENTS,
  SECRETS,
  SLIPWAYS,
} from '../../adapters/kube/resources';
import {
  BUNDLE_CONFIG_MAP,
  BUNDLE_KEY,
  CLIENT_AUTHORITY_CONFIG_MAP,
  isOurs,
  SERVING_SECRET,
} from '../../core/certificates';
import { isRecord } from '../../core/is-record';
import { NAMESPACE, ORDER_KEYS_CONFIG_MAP } from '../../core/names';
import { CLUSTER_OPERATOR, SLIPWAY } from '../../core/operator-status';
import { variableOf } from '../../process/settings';
import { refusalOf } from './server';
import type { DoctorCluster, InstalledCrd, InstalledDeployment } from './ports';

interface Crd extends KubeObject {
  readonly spec?: {
    readonly versions?: readonly { readonly name: string; readonly served: boolean }[];
  };
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

interface Deployment extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly template?: {
      readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
    };
  };
  readonly status?: { readonly readyReplicas?: number };
}

type Data = Readonly<Record<string, string>>;

const CRDS: Resource<Crd> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' },
  ...{ kind: 'CustomResourceDefinition', namespaced: false },
};

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly nodePort?: number;
    }[];
  };
}

const SERVICES: Resource<Service> = {
  ...{ group: '', version: 'v1', plural: 'services', kind: 'Service', namespaced: true },
};

export function doctorCluster(client: KubeClient): DoctorCluster {
  return {
    server: client.server,
    version: async () => {
      const answer: unknown = JSON.parse(await client.text('/version'));
      return isRecord(answer) && typeof answer['gitVersion'] === 'string'
        ? answer['gitVersion']
        : '';
    },
    whoAmI: async () =>
      (await whoAmI(client)) ?? { user: 'somebody', at: new Date().toISOString() },
    crds: async () => (await client.list(CRDS)).items.map(installedCrd),
    deployments: async () => {
      const { items } = await client.list(DEPLOYMENTS, {
        namespace: NAMESPACE,
        labelSelector: 'app.kubernetes.io/part-of=slipway',
      });
      return items.map(installedDeployment);
    },
    mayDo: (username, access) => mayDo(client, { username, groups: PROCESS_GROUPS }, access),
    nodeLeases: async () => {
      const { items } = await client.list(LEASES, { namespace: 'kube-node-lease' });
      return items.flatMap(({ metadata: { name: node }, spec }) =>
        spec?.renewTime === undefined ? [] : [{ node, renewedAt: spec.renewTime }],
      );
    },
    serverCertificate: async () => {
      const data = await storedIn(client, SECRETS, SERVING_SECRET);
      const encoded = data?.['tls.crt'];
      return encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString();
    },
    serverAuthorities: async () =>
      (await storedIn(client, CONFIG_MAPS, BUNDLE_CONFIG_MAP))?.[BUNDLE_KEY],
    orderKeys: async () =>
      (await storedIn(client, CONFIG_MAPS, ORDER_KEYS_CONFIG_MAP))?.['keys.json'],
    installerSettings: () =>
      storedIn(client, CONFIG_MAPS, 'slipway-host-settings', 'slipway-installer'),
    serverNames: async () => {
      const settings = await storedIn(client, CONFIG_MAPS, 'slipway-settings');
      const names = settings?.[variableOf('serverNames')] ?? '';
      return names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '');
    },
    serverPorts: async () => {
      const service = await unlessAbsent(
        client.get(SERVICES, {
          name: 'slipway-server',
          namespace: NAMESPACE,
        }),
      );
      const settings = await storedIn(client, CONFIG_MAPS, 'slipway-settings');
      const hasGateway = (settings?.[variableOf('payloadKeys')] ?? '') !== '';
      const { type, ports: all = [] } = service?.spec ?? {};
      const ports = all.filter(({ name }) => name !== 'gateway' || hasGateway);
      if (type === 'LoadBalancer') return ports.map(({ port }) => port);
      return ports.flatMap(({ nodePort }) => nodePort ?? []);
    },
    refusalOf,
    clientAuthorities: async () =>
      (await storedIn(client, CONFIG_MAPS, CLIENT_AUTHORITY_CONFIG_MAP))?.[BUNDLE_KEY],
    operatorStatus: async () =>
      (await unlessAbsent(client.get(SLIPWAYS, { name: SLIPWAY })))?.status,
    hasForeignOperator: async () => {
      const operator = await unlessAbsent(
        client.get(CLUSTER_OPERATORS, { name: CLUSTER_OPERATOR }),
      );
      return operator !== undefined && !isOurs(operator.metadata);
    },
    mco: () => findMco(client),
  };
}

function installedCrd({ metadata: { name }, spec, status }: Crd): InstalledCrd {
  const isEstablished =
    status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') ===
    true;
  const served = spec?.versions?.filter((version) => version.served) ?? [];
  return { name, isEstablished, servedVersions: served.map((version) => version.name) };
}

function installedDeployment({
  metadata: { name },
  spec,
  status,
}: Deployment): InstalledDeployment {
  const containers = spec?.template?.spec?.containers ?? [];
  return {
    name,
    wanted: spec?.replicas ?? 1,
    ready: status?.readyReplicas ?? 0,
    images: containers.flatMap(({ image }) => image ?? []),
  };
}

const PROCESS_GROUPS = ['system:serviceaccounts', `system:serviceaccounts:${NAMESPACE}`];

/** Undefined = there is no such object. */
async function storedIn(
  client: KubeClient,
  resource: Resource<KubeObject & { readonly data?: Data }>,
  name: string,
  namespace = NAMESPACE,
): Promise<Data | undefined> {
  const object = await unlessAbsent(client.get(resource, { name, namespace }));
  return object === undefined ? undefined : (object.data ?? {});
}
