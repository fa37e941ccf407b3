/**
 * The account of each process tries every verb on every kind that the API server describes, so that new ones are tried,
 * too. What it may do is listed here, and not tried (rights.test.ts); all else has to be refused.
 */

import { createApiClient, type ApiClient } from '../../../tools/cluster';
import { CertificateUse, issueCertificate } from '../../../tools/cluster/certificates';
import { takeApiServer, type TestApiServer } from '../crds/api-server';
import { takeControlPlane } from '../support/taken-control-plane';
import { installRights, installTemporalRights } from './rights';

jest.setTimeout(120_000);

/** Verbs by kind, everywhere; `kind in namespace` = there alone. The names of objects are never those of Slipway. */
type Rights = Readonly<Record<string, string>>;

const EVERYBODY: Rights = {
  'selfsubjectaccessreviews.authorization.k8s.io': 'create',
  'selfsubjectrulesreviews.authorization.k8s.io': 'create',
  'selfsubjectreviews.authentication.k8s.io': 'create',
};
const MCO = 'machineconfiguration.openshift.io';

const RIGHTS: Readonly<Record<string, Rights>> = {
  'slipway-controllers': {
    nodes: 'get list watch patch',
    [`machineconfigs.${MCO}`]: 'get list watch create update patch delete',
    [`machineconfigpools.${MCO}`]: 'get list watch update patch',
    [`machineconfigpools/status.${MCO}`]: 'get update patch',
    [`machineconfignodes.${MCO}`]: 'get list watch create patch delete',
    [`machineconfignodes/status.${MCO}`]: 'patch',
    [`controllerconfigs.${MCO}`]: 'get list watch',
    [`controllerconfigs/status.${MCO}`]: 'get update patch',
    [`containerruntimeconfigs.${MCO}`]: 'get list watch patch',
    [`containerruntimeconfigs/status.${MCO}`]: 'patch',
    [`kubeletconfigs.${MCO}`]: 'get list watch patch',
    [`kubeletconfigs/status.${MCO}`]: 'patch',
    [`osimagestreams.${MCO}`]: 'get list watch',
    [`pinnedimagesets.${MCO}`]: 'get list watch',
    'apiservers.config.openshift.io': 'get list watch',
    'featuregates.config.openshift.io': 'get list watch',
    'images.config.openshift.io': 'get list watch',
    'nodes.config.openshift.io': 'get list watch',
    'clusterimagepolicies.config.openshift.io': 'get list watch',
    'imagedigestmirrorsets.config.openshift.io': 'get list watch',
    'imagetagmirrorsets.config.openshift.io': 'get list watch',
    'imagepolicies.config.openshift.io': 'get list watch',
    'imagepolicies/status.config.openshift.io': 'patch',
    'imagecontentsourcepolicies.operator.openshift.io': 'get list watch',
    'rolloutpolicies.slipway.dev': 'get list watch',
    'machineconfigurations.operator.openshift.io': 'get list watch create',
    'machineconfigurations/status.operator.openshift.io': 'patch',
    'slipways.slipway.dev': 'create',
    'leases.coordination.k8s.io in slipway': 'create',
    'pods in slipway': 'list watch',
    'secrets in slipway': 'create',
    'configmaps in slipway': 'create',
    'events in slipway': 'create',
    'events in default': 'create patch',
  },
  'slipway-cluster-worker': {
    nodes: 'get list watch patch',
    pods: 'list watch',
    'pods/eviction': 'create',
    'poddisruptionbudgets.policy': 'list watch',
    'daemonsets.apps': 'list watch',
    [`machineconfigs.${MCO}`]: 'get',
    [`machineconfigpools.${MCO}`]: 'get list watch patch',
    [`machineconfignodes.${MCO}`]: 'get list watch create patch',
    [`machineconfignodes/status.${MCO}`]: 'patch',
    'rolloutpolicies.slipway.dev': 'list watch',
    'poolrollouts.slipway.dev': 'get list watch create delete',
    'poolrollouts/status.slipway.dev': 'update',
    'machineconfigurations.operator.openshift.io': 'list watch',
    'secrets in slipway': 'create',
    'configmaps in slipway': 'create',
    'events in default': 'create patch',
  },
  'slipway-server': {
    nodes: 'get list watch',
    [`machineconfigpools.${MCO}`]: 'get list watch',
    [`machineconfignodes.${MCO}`]: 'list watch',
    [`machineconfignodes/status.${MCO}`]: 'patch',
    [`controllerconfigs.${MCO}`]: 'list watch',
    [`machineconfigs.${MCO}`]: 'get',
    [`pinnedimagesets.${MCO}`]: 'list watch',
    // Who asks for payloads that are not encoded.
    'tokenreviews.authentication.k8s.io': 'create',
    'subjectaccessreviews.authorization.k8s.io': 'create',
    'rolloutpolicies.slipway.dev': 'list watch',
    'poolrollouts.slipway.dev': 'list watch',
    'machineconfigurations.operator.openshift.io': 'list watch',
    'secrets in slipway-join': 'list watch patch',
  },
};

type Place = `${'secrets' | 'configmaps'} ${string}/${string}`;

/** What is worth stealing, and what each account may do with it. `list` and `watch` ask for this name alone. */
const NAMED: Readonly<Record<Place, Rights>> = {
  'secrets slipway/slipway-order-key': { 'slipway-cluster-worker': 'get list watch patch' },
  'secrets slipway/slipway-payload-keys': { 'slipway-controllers': 'get' },
  'secrets slipway/slipway-server-ca': { 'slipway-controllers': 'get list watch patch' },
  'secrets slipway/slipway-server-tls': { 'slipway-controllers': 'get list watch patch' },
  'secrets slipway/slipway-temporal-ca': { 'slipway-controllers': 'get list watch patch' },
  'secrets slipway/slipway-temporal-tls': { 'slipway-controllers': 'get list watch patch' },
  'secrets slipway/slipway-host-secrets': {},
  'secrets slipway/pull-secret': { 'slipway-server': 'list watch' },
  'secrets temporal/temporal-tls': { 'slipway-controllers': 'get patch' },
  'secrets temporal/temporal-postgres': {},
  'configmaps slipway/slipway-order-keys': {
    'slipway-cluster-worker': 'get list watch patch',
    'slipway-controllers': 'get list watch',
    'slipway-server': 'get list watch',
  },
  'configmaps slipway/slipway-server-ca': {
    'slipway-controllers': 'get list watch patch',
    'slipway-cluster-worker': 'get list watch',
    'slipway-server': 'get list watch',
  },
  'configmaps slipway/slipway-client-ca': { 'slipway-controllers': 'get list watch patch' },
  'configmaps slipway/slipway-settings': {},
};

const NAMESPACES = ['slipway', 'slipway-join', 'default', 'kube-system'];
/** No object of Slipway has it. */
const OTHER = 'other';

interface Attempt {
  readonly kind: string;
  readonly verb: string;
  readonly namespace: string | undefined;
  readonly method: string;
  readonly path: string;
}

let api: TestApiServer;
let attempts: readonly Attempt[];

beforeAll(async () => {
  api = await takeApiServer();
  await installRights(api);
  await installTemporalRights(api);
  const { layout } = takeControlPlane();
  const admin = createApiClient(layout.server, layout.authority.certificate, layout.admin);
  attempts = await describedAttempts(admin);
  admin.close();
});

afterAll(() => api?.stop());

async function clientOf(account: string): Promise<ApiClient> {
  const { layout } = takeControlPlane();
  const credentials = await issueCertificate(layout.authority, {
    // Who a token of this account is.
    subject: {
      commonName: `system:serviceaccount:slipway:${account}`,
      organizations: ['system:serviceaccounts', 'system:serviceaccounts:slipway'],
    },
    use: CertificateUse.CLIENT,
  });
  return createApiClient(layout.server, layout.authority.certificate, credentials);
}

interface Described {
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

async function describedAttempts(admin: ApiClient): Promise<readonly Attempt[]> {
  interface Group {
    readonly name: string;
    readonly versions: readonly { readonly groupVersion: string }[];
  }
  const { groups } = await admin.call<{ readonly groups: readonly Group[] }>('GET', '/apis');
  const served = [
    { group: '', path: '/api/v1' },
    ...groups.flatMap(({ name, versions }) =>
      versions.map(({ groupVersion }) => ({ group: name, path: `/apis/${groupVersion}` })),
    ),
  ];
  const lists = await Promise.all(
    served.map(async ({ group, path }) => {
      const list = await admin.call<{ readonly resources: readonly Described[] }>('GET', path);
      return list.resources.flatMap((resource) => attemptsAt({ group, path }, resource));
    }),
  );
  return lists.flat();
}

function attemptsAt(
  { group, path }: { readonly group: string; readonly path: string },
  { name, namespaced, verbs }: Described,
): readonly Attempt[] {
  const [plural = '', subresource] = name.split('/');
  const kind = group === '' ? name : `${name}.${group}`;
  return (namespaced ? NAMESPACES : [undefined]).flatMap((namespace) => {
    const all = `${path}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${plural}`;
    const one = `${all}/${OTHER}${subresource === undefined ? '' : `/${subresource}`}`;
    const created = subresource === undefined ? all : one;
    const requests: Readonly<Record<string, readonly [string, string]>> = {
      get: ['GET', one],
      list: ['GET', all],
      watch: ['GET', `${all}?watch=1&timeoutSeconds=1`],
      create: ['POST', `${created}?dryRun=All`],
      update: ['PUT', `${one}?dryRun=All`],
      patch: ['PATCH', `${one}?dryRun=All`],
      delete: ['DELETE', `${one}?dryRun=All`],
      deletecollection: ['DELETE', `${all}?dryRun=All`],
    };
    return verbs.flatMap((verb) => {
      const request = requests[verb];
      return request === undefined
        ? []
        : [{ kind, verb, namespace, method: request[0], path: request[1] }];
    });
  });
}

function isAllowed(rights: Rights, { kind, verb, namespace }: Attempt): boolean {
  return [rights, EVERYBODY].some((those) =>
    [kind, `${kind} in ${namespace}`].some((key) => those[key]?.split(' ').includes(verb)),
  );
}

function namedAttempts(place: Place): readonly Attempt[] {
  const [kind = '', where = ''] = place.split(' ');
  const [namespace = '', name = ''] = where.split('/');
  const all = `/api/v1/namespaces/${namespace}/${kind}`;
  const one = `${all}/${name}`;
  const named = `${all}?fieldSelector=metadata.name%3D${name}`;
  return [
    ['get', 'GET', one],
    ['list', 'GET', named],
    ['watch', 'GET', `${named}&watch=1&timeoutSeconds=1`],
    ['update', 'PUT', `${one}?dryRun=All`],
    ['patch', 'PATCH', `${one}?dryRun=All`],
    ['delete', 'DELETE', `${one}?dryRun=All`],
  ].map(([verb = '', method = '', path = '']) => ({ kind, verb, namespace, method, path }));
}

const shown = ({ verb, kind, namespace }: Attempt): string =>
  `${verb} ${kind}${namespace === undefined ? '' : ` in ${namespace}`}`;

/** @returns those that the API server has not refused, each once for all versions of a kind */
async function tryAll(client: ApiClient, tried: readonly Attempt[]): Promise<readonly string[]> {
  const answers = await Promise.all(
    tried.map(async (attempt) => {
      const body = ['POST', 'PUT', 'PATCH'].includes(attempt.method) ? {} : undefined;
      const { status } = await client.send(attempt.method, attempt.path, body);
      return status === 403 ? [] : [shown(attempt)];
    }),
  );
  return [...new Set(answers.flat())];
}

describe.each(Object.entries(RIGHTS))('the account %s', (account, rights) => {
  let client: ApiClient;
  beforeAll(async () => {
    client = await clientOf(account);
  });
  afterAll(() => client.close());

  it('is refused all that it has no use for', async () => {
    const tried = attempts.filter((attempt) => !isAllowed(rights, attempt));

    const passed = await tryAll(client, tried);

    process.stdout.write(
      `${account}: tried ${tried.length}, refused ${tried.length - passed.length}\n`,
    );
    expect(passed).toEqual([]);
    // All that an intruder wants is among them.
    expect(tried.map(shown)).toEqual(
      expect.arrayContaining([
        'get secrets in kube-system',
        'create pods in kube-system',
        'create pods/exec in slipway',
        'create serviceaccounts/token in kube-system',
        'create clusterrolebindings.rbac.authorization.k8s.io',
        'update clusterroles.rbac.authorization.k8s.io',
        'get nodes/proxy',
        'delete nodes',
        'patch certificatesigningrequests/approval.certificates.k8s.io',
      ]),
    );
  });

  it('does with what is worth stealing no more than it has to', async () => {
    const places = Object.keys(NAMED) as Place[];
    const done = await Promise.all(
      places.map(async (place) => {
        const passed = await tryAll(client, namedAttempts(place));
        return [place, passed.map((each) => each.split(' ')[0]).join(' ')] as const;
      }),
    );

    const expected = places.map((place) => [place, NAMED[place]?.[account] ?? '']);
    expect(Object.fromEntries(done)).toEqual(Object.fromEntries(expected));
  });

  it('finds nothing but its own rights in the list', () => {
    const described = new Set(
      attempts.flatMap((attempt) => [attempt.kind, `${attempt.kind} in ${attempt.namespace}`]),
    );
    // Kinds of OpenShift that are not served here.
    const known = Object.keys(rights).filter((kind) => !kind.includes('config.openshift.io'));

    expect(known.filter((kind) => !described.has(kind))).toEqual([]);
  });

  it.each(['/metrics', '/logs/', '/debug/pprof/', '/configz'])('does not read %s', async (path) => {
    expect((await client.send('GET', path)).status).toBe(403);
  });

  // Verbs that no request has by itself.
  it.each([
    ['impersonate', '', 'users'],
    ['impersonate', '', 'groups'],
    ['impersonate', '', 'serviceaccounts'],
    ['bind', 'rbac.authorization.k8s.io', 'clusterroles'],
    ['escalate', 'rbac.authorization.k8s.io', 'clusterroles'],
    ['approve', 'certificates.k8s.io', 'signers'],
    ['sign', 'certificates.k8s.io', 'signers'],
  ])('may not %s %s %s', async (verb, group, resource) => {
    const review = await client.call<{ readonly status: { readonly allowed: boolean } }>(
      'POST',
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes: { verb, group, resource } },
      },
    );
    expect(review.status.allowed).toBe(false);
  });
});
