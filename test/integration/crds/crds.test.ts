import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  NAMESPACES,
  OS_IMAGE_STREAMS,
  ROLLOUT_POLICIES,
  type KubeObject,
  type Resource,
} from '../../../adapters/kube/resources';
import * as schemas from '../../../adapters/api-schemas';
import { NodeCondition } from '../../../core/names';
import { admissionRefusals } from '../../../core/templates';
import { filledManifests, takeApiServer, type TestApiServer } from './api-server';
import { CRDS, manifests } from './install';

const RESOURCES: readonly Resource[] = [
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  ROLLOUT_POLICIES,
];

const SCHEMAS = { ...schemas } as unknown as Record<
  string,
  { parse(value: unknown): unknown } | undefined
>;

let api: TestApiServer;

beforeAll(async () => {
  api = await takeApiServer();
}, 300_000);

afterAll(async () => {
  await api.stop();
}, 60_000);

/** Creates an object of any shape. @returns the API server's message when it refuses */
async function refusalOf(resource: Resource, object: object): Promise<string> {
  try {
    await api.client.create(resource, object as KubeObject);
    return 'accepted';
  } catch (error) {
    return (error as Error).message;
  }
}

const selector = { matchLabels: { 'machineconfiguration.openshift.io/role': 'worker' } };

function aPool(name: string, spec: object = {}): object {
  return {
    metadata: { name },
    spec: { machineConfigSelector: selector, nodeSelector: selector, ...spec },
  };
}

describe('the samples and the examples, filled in,', () => {
  it('are all accepted, strictly, and read as the schemas say', async () => {
    const samples = filledManifests();
    expect(samples.length).toBeGreaterThan(12);

    for (const sample of samples) {
      const resource = RESOURCES.find(({ kind }) => kind === sample.kind);
      if (resource === undefined) throw new Error(`no resource for ${sample.kind}`);
      const path = `/apis/${sample.apiVersion}/${resource.plural}?fieldValidation=Strict`;
      const answer = await api.client.post(path, sample, `create ${sample.metadata.name}`);
      expect({ name: sample.metadata.name, answer }).toEqual({
        name: sample.metadata.name,
        answer: { ok: true },
      });
      const stored = await api.client.get(resource, { name: sample.metadata.name });
      expect(() => SCHEMAS[resource.kind]?.parse(stored)).not.toThrow();
      expect(stored).toMatchObject(sample);
    }
  });
});

describe('the base', () => {
  it('is accepted strictly', async () => {
    await api.client.create(NAMESPACES, { metadata: { name: 'slipway' } });
    const paths: Readonly<Record<string, string>> = {
      ConfigMap: '/api/v1/namespaces/slipway/configmaps',
      Deployment: '/apis/apps/v1/namespaces/slipway/deployments',
      PodDisruptionBudget: '/apis/policy/v1/namespaces/slipway/poddisruptionbudgets',
      Service: '/api/v1/namespaces/slipway/services',
    };
    const objects = (await manifests('base')).filter(({ kind }) => kind !== 'Kustomization');
    expect(objects.length).toBeGreaterThan(6);

    for (const object of objects) {
      const path = paths[object.kind ?? ''];
      const answer = await api.client.post(
        `${path}?fieldValidation=Strict`,
        object,
        `create ${object.kind} ${object.metadata.name}`,
      );
      expect({ name: object.metadata.name, answer }).toMatchObject({ answer: { ok: true } });
    }
  });
});

describe('names and columns', () => {
  it.each([
    ['machineconfigs', 'mc', ['Name', 'GeneratedByController', 'IgnitionVersion', 'Age'], [], []],
    [
      'machineconfigpools',
      'mcp',
      [
        'Name',
        'Config',
        'Updated',
        'Updating',
        'Degraded',
        'MachineCount',
        'ReadyMachineCount',
        'UpdatedMachineCount',
        'DegradedMachineCount',
        'Age',
      ],
      [],
      [],
    ],
    [
      'machineconfignodes',
      'mcn',
      ['Name', 'PoolName', 'DesiredConfig', 'CurrentConfig', 'Updated', 'Age'],
      [
        'UpdatePrepared',
        'UpdateExecuted',
        'UpdatePostActionComplete',
        'UpdateComplete',
        'Resumed',
        'UpdatedFilesAndOS',
        'CordonedNode',
        'DrainedNode',
        'RebootedNode',
        'UncordonedNode',
      ],
      ['AppliedFiles', 'AppliedOSImage', 'Drifted', 'HostBundle'],
    ],
  ])('%s is also %s, and prints as with MCO', async (plural, short, columns, wide, own) => {
    const group = '/apis/machineconfiguration.openshift.io/v1';
    const discovery = JSON.parse(await api.client.text(group)) as {
      resources: { name: string; shortNames?: string[]; namespaced: boolean }[];
    };
    const resource = discovery.resources.find(({ name }) => name === plural);
    expect(resource?.shortNames).toEqual([short]);
    expect(resource?.namespaced).toBe(false);

    const crd = await api.client.get(CRDS, {
      name: `${plural}.machineconfiguration.openshift.io`,
    });
    const shown = crd.spec.versions[0]?.additionalPrinterColumns ?? [];
    expect(['Name', ...shown.map(({ name }) => name)]).toEqual([...columns, ...wide, ...own]);
    expect(shown.filter(({ priority }) => priority === 1).map(({ name }) => name)).toEqual([
      ...wide,
      ...own,
    ]);
  });
});

describe('a MachineConfig', () => {
  it.each([
    ['a string', 'ignition'],
    ['a list', []],
    ['a number', 3],
  ])('is refused when config is %s', async (_what, config) => {
    const refused = await refusalOf(MACHINE_CONFIGS, { metadata: { name: 'x' }, spec: { config } });

    expect(refused).toContain('spec.config');
    expect(refused).toContain('must be of type object');
  });

  it('is accepted with any Ignition, which rendering judges', async () => {
    const odd = { metadata: { name: 'odd' }, spec: { config: { ignition: { version: '9.9.9' } } } };

    expect(await refusalOf(MACHINE_CONFIGS, odd)).toBe('accepted');
  });

  it('keeps unknown fields of its config', async () => {
    const config = { ignition: { version: '3.5.0', anything: [1, { deep: true }] } };
    await api.client.create(MACHINE_CONFIGS, { metadata: { name: 'deep' }, spec: { config } });

    expect((await api.client.get(MACHINE_CONFIGS, { name: 'deep' })).spec.config).toEqual(config);
  });
});

function kindOf({ group, version, kind }: Resource): object {
  return { apiVersion: `${group}/${version}`, kind };
}

/** For every field below the spec of a CRD, a spec in which it is null. */
function specsWithNulls(schema: JsonSchema): readonly Record<string, unknown>[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => [
    { [name]: null },
    ...specsWithNulls(field).map((inner) => ({ [name]: inner })),
  ]);
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

describe('null for an optional field', () => {
  const bare: Readonly<Record<string, object>> = {
    ControllerConfig: { metadata: { name: 'machine-config-controller' }, spec: {} },
    MachineConfigPool: aPool('nulls'),
    MachineConfiguration: { metadata: { name: 'cluster' }, spec: {} },
  };
  /** A pool needs both selectors, and a policy for SSH keys its actions. */
  const isRequired = (field: string): boolean =>
    /^{"((machineConfig|node)Selector":null|nodeDisruptionPolicy":{"sshkey":{)/.test(field);

  it.each(RESOURCES.filter(({ kind }) => kind !== 'MachineConfigNode'))(
    'of a $kind is absent for the API server',
    async (resource) => {
      const { group, version, plural, kind } = resource;
      const { spec } = await api.client.get(CRDS, { name: `${plural}.${group}` });
      const [schema] = spec.versions as readonly { schema: { openAPIV3Schema: JsonSchema } }[];
      const { spec: said = {}, status } = schema?.schema.openAPIV3Schema.properties ?? {};
      const fields = specsWithNulls(said);
      const optional = fields.filter((field) => !isRequired(JSON.stringify(field)));
      expect(optional.length).toBeGreaterThan(3);

      const refused = await Promise.all(
        optional.map(async (field) => {
          const object = bare[kind] ?? { metadata: { name: 'nulls' } };
          const nulls = { ...(object as { spec?: object }).spec, ...field };
          const path = `/apis/${group}/${version}/${plural}?dryRun=All&fieldValidation=Strict`;
          const ofStatus = status === undefined ? {} : { status: null };
          const whole = { ...object, ...kindOf(resource), spec: nulls, ...ofStatus };
          const answer = await api.client.post(path, whole, `create ${kind}`);
          // An object that already exists was valid.
          return answer.ok || answer.status.reason === 'AlreadyExists' ? [] : [field, answer];
        }),
      );

      expect(refused.flat()).toEqual([]);
    },
  );
});

describe('a ControllerConfig', () => {
  it.each<[spec: Record<string, unknown>, isRefused: boolean]>([
    [{ clusterDNSIP: '10.96.0.10' }, false],
    [{ clusterDNSIP: 'fd00::a' }, false],
    [{ clusterDNSIP: '' }, false],
    [{ clusterDNSIP: '10.96.0' }, true],
    [{ clusterDNSIP: '10.96.0.10,fd00::a' }, true],
    [{ proxy: null }, false],
    [{ proxy: { httpProxy: 'http://user:p%20w@proxy.example.com:3128', noProxy: 'a,b' } }, false],
    [{ proxy: { httpsProxy: '' } }, false],
    [{ proxy: { httpProxy: 'proxy.example.com:3128' } }, true],
    [{ proxy: { httpsProxy: 'socks5://proxy.example.com' } }, true],
    [{ proxy: { httpsProxy: 'http://proxy.example.com\n[Service]' } }, true],
  ])('with %j is judged as slipway render does', async (spec, isRefused) => {
    const object = { metadata: { name: 'machine-config-controller' }, spec };
    const path = '/apis/machineconfiguration.openshift.io/v1/controllerconfigs?dryRun=All';
    const whole = { ...object, ...kindOf(CONTROLLER_CONFIGS) };

    const answer = await api.client.post(path, whole, 'create ControllerConfig');

    // An object that already exists was valid.
    const isInvalid = !answer.ok && answer.status.reason !== 'AlreadyExists';
    const refusals = admissionRefusals(object);
    expect([isInvalid, refusals.length > 0]).toEqual([isRefused, isRefused]);
    for (const { path: field } of refusals)
      expect(JSON.stringify(answer)).toContain(field.join('.'));
  });
});

describe('a MachineConfigPool', () => {
  it.each([0, -1, '0', '0%', '150%', '101%', 'abc', '5', '-5%', '5.5%', '', '٥%'])(
    'is refused with maxUnavailable %p, and told what to write',
    async (maxUnavailable) => {
      const refused = await refusalOf(MACHINE_CONFIG_POOLS, aPool('nonsense', { maxUnavailable }));

      expect(refused).toContain(
        'spec.maxUnavailable must be an integer of at least 1, or a percentage from "1%" to "100%"',
      );
      expect(refused).toContain('set paused to true to stop updates');
    },
  );

  it.each([1, 250, '1%', '50%', '100%'])('is accepted with maxUnavailable %p', async (value) => {
    const name = `pool-${String(value).replace('%', '-percent')}`;

    expect(await refusalOf(MACHINE_CONFIG_POOLS, aPool(name, { maxUnavailable: value }))).toBe(
      'accepted',
    );
  });

  it.each(['machineConfigSelector', 'nodeSelector'])(
    'is refused without %s, and told what to add',
    async (field) => {
      const pool = aPool('bare') as { spec: Record<string, unknown> };
      delete pool.spec[field];

      const refused = await refusalOf(MACHINE_CONFIG_POOLS, pool);

      expect(refused).toContain(`spec.${field} is missing`);
      expect(refused).toContain('add for example matchLabels');
    },
  );

  it('is accepted strictly as MCO had it, with a status that nobody reads', async () => {
    const status = {
      certExpirys: [{ bundle: 'a', expiry: '2034-01-01T00:00:00Z', subject: 'CN=x' }],
      conditions: [{ type: 'RenderDegraded', status: 'False', reason: '', message: '' }],
      poolSynchronizersStatus: [{ poolSynchronizerType: 'PinnedImageSets', machineCount: 2 }],
      osImageStream: { name: 'rhel-9' },
    };
    const exported = { ...aPool('exported'), ...kindOf(MACHINE_CONFIG_POOLS), status };
    const path = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';

    expect(
      await api.client.post(`${path}?fieldValidation=Strict`, exported, 'create exported'),
    ).toEqual({ ok: true });
    expect(
      (await api.client.get(MACHINE_CONFIG_POOLS, { name: 'exported' })).status,
    ).toBeUndefined();
  });

  it('has a status of its own', async () => {
    await api.client.create(MACHINE_CONFIG_POOLS, aPool('with-status') as never);
    const status = { machineCount: 3, conditions: [{ type: 'Updated', status: 'True' }] };
    const patched = await api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'with-status', subresource: 'status' },
      { spec: { paused: true }, status },
    );

    expect(patched.status).toMatchObject(status);
    expect(patched.spec.paused).toBeUndefined();
  });
});

describe('a MachineConfigNode', () => {
  const spec = (node: string) => ({
    node: { name: node },
    pool: { name: 'worker' },
    configVersion: { desired: 'not-yet-set' },
  });

  it('must be named after its node', async () => {
    const other = { metadata: { name: 'worker-1' }, spec: spec('worker-2') };

    expect(await refusalOf(MACHINE_CONFIG_NODES, other)).toContain(
      'name the MachineConfigNode after its node',
    );
    expect(
      await refusalOf(MACHINE_CONFIG_NODES, {
        metadata: { name: 'worker-1' },
        spec: spec('worker-1'),
      }),
    ).toBe('accepted');
  });

  it('prints each condition in its column', async () => {
    const key = { name: 'worker-9' };
    await api.client.create(MACHINE_CONFIG_NODES, { metadata: key, spec: spec('worker-9') });
    const columns: Record<string, readonly string[]> = {};

    for (const type of Object.values(NodeCondition)) {
      const lastTransitionTime = '2030-01-01T00:00:00Z';
      const value = { type, status: 'True', reason: 'Test', message: '', lastTransitionTime };
      const status = { conditions: [value] };
      await api.client.patch(MACHINE_CONFIG_NODES, { ...key, subresource: 'status' }, { status });
      const cells = Object.entries(await api.printed(MACHINE_CONFIG_NODES, 'worker-9'));
      columns[type] = cells.flatMap(([name, cell]) => (cell === 'True' ? [name] : []));
    }

    // With MCO's names; conditions without a column in MCO show in the pool.
    const others: Partial<Record<NodeCondition, readonly string[]>> = {
      AppliedFilesAndOS: ['UpdatedFilesAndOS'],
      Cordoned: ['CordonedNode'],
      Drained: ['DrainedNode'],
      Uncordoned: ['UncordonedNode'],
      NodeDegraded: [],
      ForeignUpdater: [],
      PinnedImageSetsProgressing: [],
      PinnedImageSetsDegraded: [],
    };
    expect(columns).toEqual(
      Object.fromEntries(
        Object.values(NodeCondition).map((type) => [type, others[type] ?? [type]]),
      ),
    );
  });
});

describe('a RolloutPolicy', () => {
  it.each([
    [{ trigger: 'Sometimes' }, 'spec.trigger'],
    [{ canary: { nodes: -1 } }, 'spec.canary.nodes'],
    [{ failureThreshold: 0 }, 'spec.failureThreshold must be an integer of at least 1'],
    [{ failureThreshold: '0%' }, 'spec.failureThreshold must be'],
    [{ failureThreshold: 'many' }, 'spec.failureThreshold must be'],
    [{ drain: { timeoutSeconds: 0 } }, 'spec.drain.timeoutSeconds'],
    [{ drain: { gracePeriodSeconds: -1 } }, 'spec.drain.gracePeriodSeconds'],
    [{ drain: { onTimeout: 'Panic' } }, 'spec.drain.onTimeout'],
    [{ reboot: { timeoutSeconds: 0 } }, 'spec.reboot.timeoutSeconds'],
    [{ prepareAhead: -1 }, 'spec.prepareAhead'],
    [{ verify: { readySeconds: -1 } }, 'spec.verify.readySeconds'],
    [{ verify: { reconnectSeconds: 0 } }, 'spec.verify.reconnectSeconds'],
  ])('is refused as %j', async (spec, naming) => {
    expect(await refusalOf(ROLLOUT_POLICIES, { metadata: { name: 'p' }, spec })).toContain(naming);
  });

  it('prints what it says', async () => {
    const spec = { trigger: 'Manual', canary: { nodes: 2 }, failureThreshold: '30%' };
    await api.client.create(ROLLOUT_POLICIES, { metadata: { name: 'printed' }, spec } as never);

    expect(await api.printed(ROLLOUT_POLICIES, 'printed')).toMatchObject({
      ...{ Name: 'printed', Trigger: 'Manual', Canary: 2, FailureThreshold: '30%' },
    });
  });

  it('may say nothing at all', async () => {
    expect(await refusalOf(ROLLOUT_POLICIES, { metadata: { name: 'empty' } })).toBe('accepted');
  });
});

describe('an OSImageStream', () => {
  const image = `registry.example.com/os@sha256:${'1'.repeat(64)}`;
  const stream = { name: 'rhel-10', osImage: image, osExtensionsImage: image };
  const apply = async (status: object) =>
    api.client
      .apply(
        OS_IMAGE_STREAMS,
        { metadata: { name: 'cluster' }, status },
        { fieldManager: 'a-person', subresource: 'status' },
      )
      .then(
        () => 'accepted',
        (error: unknown) => (error as Error).message,
      );

  beforeAll(async () => {
    const cluster = { metadata: { name: 'cluster' }, spec: {} };
    expect(await refusalOf(OS_IMAGE_STREAMS, cluster)).toBe('accepted');
  });

  it('is a singleton', async () => {
    expect(await refusalOf(OS_IMAGE_STREAMS, { metadata: { name: 'other' }, spec: {} })).toContain(
      'its name must be cluster',
    );
  });

  it.each([
    ['a stream', [stream], 'accepted'],
    ['no stream', [], 'availableStreams: Required value'],
    [
      'an image by tag',
      [{ ...stream, osImage: 'registry.example.com/os:10' }],
      'must end with @sha256',
    ],
    [
      'no extensions image',
      [{ name: 'rhel-10', osImage: image }],
      'osExtensionsImage: Required value',
    ],
  ])('is judged with %s', async (_what, availableStreams, answer) => {
    expect(await apply({ availableStreams, defaultStream: 'rhel-10' })).toContain(answer);
  });
});

describe('a MachineConfiguration', () => {
  const policy = (actions: object[]) => ({
    metadata: { name: 'cluster' },
    spec: { nodeDisruptionPolicy: { files: [{ path: '/etc/a', actions }] } },
  });

  it('is a singleton', async () => {
    expect(
      await refusalOf(MACHINE_CONFIGURATIONS, { metadata: { name: 'other' }, spec: {} }),
    ).toContain('its name must be cluster');
  });

  it.each([
    ['Reboot with another', [{ type: 'Reboot' }, { type: 'Drain' }], 'must be the only one'],
    ['None with another', [{ type: 'None' }, { type: 'Drain' }], 'must be the only one'],
    ['an unknown type', [{ type: 'Explode' }], 'Unsupported value'],
    ['Special, which is not for users', [{ type: 'Special' }], 'Unsupported value'],
    ['Restart without a service', [{ type: 'Restart' }], 'restart: {serviceName'],
    ['Drain with a service', [{ type: 'Drain', reload: { serviceName: 'a.service' } }], 'reload'],
    [
      'a service without suffix',
      [{ type: 'Restart', restart: { serviceName: 'chronyd' } }],
      'with its suffix',
    ],
  ])('is refused with %s', async (_what, actions, message) => {
    expect(await refusalOf(MACHINE_CONFIGURATIONS, policy(actions))).toContain(message);
  });

  const actions = [{ type: 'None' }];
  it.each<[string, object, string]>([
    ['no actions for a file', { files: [{ path: '/a', actions: [] }] }, 'must not be empty'],
    ['no actions for a unit', { units: [{ name: 'a.service', actions: [] }] }, 'must not be empty'],
    ['a relative path', { files: [{ path: 'etc/a', actions }] }, 'path must be absolute'],
    ['the path of no file', { files: [{ path: '/', actions }] }, 'path / covers no file'],
    ['a path with //', { files: [{ path: '/etc//a', actions }] }, 'must not contain //'],
    ['a path with /../', { files: [{ path: '/etc/../a', actions }] }, 'must not contain //'],
    ['a path with /. at its end', { files: [{ path: '/etc/.', actions }] }, 'must not contain //'],
    ['a unit without suffix', { units: [{ name: 'crio', actions }] }, 'with its suffix'],
    [
      'one path twice',
      {
        files: [
          { path: '/a', actions },
          { path: '/a', actions },
        ],
      },
      'Duplicate value',
    ],
  ])('is refused with %s', async (_what, nodeDisruptionPolicy, message) => {
    const object = { metadata: { name: 'cluster' }, spec: { nodeDisruptionPolicy } };
    expect(await refusalOf(MACHINE_CONFIGURATIONS, object)).toContain(message);
  });

  it('is refused with exceptions for storage, which would be ignored', async () => {
    const refusal = (storage: string[]): Promise<string> =>
      refusalOf(MACHINE_CONFIGURATIONS, {
        metadata: { name: 'cluster' },
        spec: { irreconcilableValidationOverrides: { storage } },
      });

    expect(await refusal(['Disks'])).toContain('remove the overrides');
    await api.client.delete(MACHINE_CONFIGURATIONS, { name: 'cluster' });
    expect(await refusal([])).toBe('accepted');
  });

  it('takes backslashes and templates in unit names, and fields that others own', async () => {
    const object = policy([
      { type: 'Restart', restart: { serviceName: 'dev-disk\\x2d1.mount' } },
      { type: 'Reload', reload: { serviceName: 'getty@tty1.service' } },
    ]) as { metadata: { name: string }; spec: object };
    const path =
      '/apis/operator.openshift.io/v1/machineconfigurations?dryRun=All&fieldValidation=Strict';
    const body = {
      apiVersion: 'operator.openshift.io/v1',
      kind: 'MachineConfiguration',
      ...object,
      metadata: { name: 'cluster' },
      spec: { ...object.spec, managementState: 'Managed' },
    };
    await api.client.delete(MACHINE_CONFIGURATIONS, { name: 'cluster' });

    expect(await api.client.post(path, body, 'create')).toEqual({ ok: true });
  });
});
