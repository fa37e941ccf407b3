import {
  CONTAINER_RUNTIME_CONFIG,
  KUBELET_CONFIG,
  planRemoval,
  planSync,
  type Generated,
  type KnownConfig,
  type Origin,
  type SelectedPool,
  type Write,
} from '../../../../core/generated-configs';
import { ANNOTATION, LABEL } from '../../../../core/names';

const NOW = '2026-01-01T00:00:00Z';
const SPEC = { config: { ignition: { version: '3.5.0' } } };

const pool = (name: string, labels = { pool: name }): SelectedPool => ({
  metadata: { name, uid: `uid-of-${name}`, labels },
});

const origin = (name: string, metadata: Partial<Origin['metadata']> = {}): Origin => ({
  metadata: { name, uid: `uid-of-${name}`, generation: 1, ...metadata },
  spec: { machineConfigPoolSelector: { matchLabels: { pool: 'worker' } } },
});

interface Look {
  readonly origins?: readonly Origin[];
  readonly pools?: readonly SelectedPool[];
  readonly configs?: readonly KnownConfig[];
  readonly generate?: (pool: SelectedPool) => Generated;
  readonly refusal?: string;
}

const look = (of: Origin, more: Look = {}) =>
  planSync({
    kind: KUBELET_CONFIG,
    origin: of,
    origins: [of, ...(more.origins ?? [])],
    pools: more.pools ?? [pool('worker')],
    configs: more.configs ?? [],
    version: 'v1',
    now: NOW,
    refusal: more.refusal,
    generate: more.generate ?? (() => ({ spec: SPEC })),
    defects: 'corrected',
  });

/** What the cluster holds after the writes. */
function after(of: Origin, writes: readonly Write[]): { origin: Origin; configs: KnownConfig[] } {
  let changed = of;
  const configs: KnownConfig[] = [];
  for (const write of writes) {
    if (write.do === 'create' || write.do === 'replace') configs.push(write.config);
    if (write.do === 'mark') {
      const { annotations, finalizers } = write;
      changed = { ...changed, metadata: { ...changed.metadata, annotations, finalizers } };
    }
    if (write.do === 'status') {
      const { conditions, observedGeneration } = write;
      changed = { ...changed, status: { conditions, observedGeneration } };
    }
  }
  return { origin: changed, configs };
}

const kinds = (writes: readonly Write[]): readonly string[] => writes.map((write) => write.do);

test('the object is marked before its MachineConfig exists, and told at the end', () => {
  const { writes } = look(origin('a'));
  expect(kinds(writes)).toEqual(['mark', 'create', 'status']);
});

test('a second look writes nothing', () => {
  const first = after(origin('a'), look(origin('a')).writes);
  expect(look(first.origin, { configs: first.configs }).writes).toEqual([]);
});

test('another version of the controllers generates anew, and says nothing new', () => {
  const { origin: known, configs } = after(origin('a'), look(origin('a')).writes);
  const older = configs.map((config) => ({
    ...config,
    metadata: {
      ...config.metadata,
      annotations: { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'v0' },
    },
  }));
  expect(kinds(look(known, { configs: older }).writes)).toEqual(['replace']);
});

test('an edited MachineConfig is put right, its label too', () => {
  const { origin: known, configs } = after(origin('a'), look(origin('a')).writes);
  const edited = configs.map(({ metadata, spec }) => ({
    metadata: { ...metadata, labels: { [LABEL.ROLE]: 'infra', mine: 'x' } },
    spec,
  }));
  const [write] = look(known, { configs: edited }).writes;
  expect(write).toMatchObject({
    do: 'replace',
    config: { metadata: { labels: { [LABEL.ROLE]: 'worker' } } },
  });
});

test('annotations and finalizers of others stay, finalizers of old versions go', () => {
  const of = origin('a', {
    annotations: { 'example.com/team': 'x' },
    finalizers: ['argocd.argoproj.io/hook', '0a1b2c3d-0000-4000-8000-00000000000a'],
  });
  const config: KnownConfig = {
    metadata: { name: '99-worker-generated-kubelet', uid: '0a1b2c3d-0000-4000-8000-00000000000a' },
    spec: SPEC,
  };
  expect(look(of, { configs: [config] }).writes[0]).toEqual({
    do: 'mark',
    annotations: { 'example.com/team': 'x', [ANNOTATION.NAME_SUFFIX]: '' },
    finalizers: ['argocd.argoproj.io/hook', '99-worker-generated-kubelet'],
  });
});

test('a refused pool keeps all pools as they are', () => {
  const of: Origin = {
    ...origin('a'),
    spec: {
      machineConfigPoolSelector: { matchExpressions: [{ key: 'pool', operator: 'Exists' }] },
    },
  };
  const generate = ({ metadata }: SelectedPool): Generated =>
    metadata.name === 'master' ? { problem: 'no' } : { spec: SPEC };
  const plan = look(of, { pools: [pool('worker'), pool('master')], generate });
  expect(plan.problem).toBe('no');
  expect(kinds(plan.writes)).toEqual(['status']);
});

test('an object of two pools has one number, free in both', () => {
  const both: Origin = {
    ...origin('b', { creationTimestamp: NOW }),
    spec: {
      machineConfigPoolSelector: { matchExpressions: [{ key: 'pool', operator: 'Exists' }] },
    },
  };
  const infra: Origin = {
    ...origin('a', { annotations: { [ANNOTATION.NAME_SUFFIX]: '' } }),
    spec: { machineConfigPoolSelector: { matchLabels: { pool: 'infra' } } },
  };
  const { writes } = look(both, { origins: [infra], pools: [pool('worker'), pool('infra')] });
  expect(writes[0]).toMatchObject({
    annotations: { [ANNOTATION.NAME_SUFFIX]: '1' },
    finalizers: ['99-worker-generated-kubelet-1', '99-infra-generated-kubelet-1'],
  });
});

describe('two objects of a pool with one number', () => {
  const first = origin('a', { creationTimestamp: '2026-01-01T00:00:00Z' });
  const known = after(first, look(first).writes);
  /** As `kubectl get -o yaml` shows it, under another name. */
  const copy = origin('copy', {
    ...known.origin.metadata,
    ...{ name: 'copy', uid: 'uid-of-copy', creationTimestamp: '2026-01-02T00:00:00Z' },
  });

  test('the newer one gets the next number, and the older one keeps its own', () => {
    const { writes } = look(copy, { origins: [known.origin], configs: known.configs });
    expect(writes[0]).toMatchObject({
      annotations: { [ANNOTATION.NAME_SUFFIX]: '1' },
      finalizers: ['99-worker-generated-kubelet-1'],
    });
    const settled = after(copy, writes);
    const configs = [...known.configs, ...settled.configs];
    expect(look(known.origin, { origins: [settled.origin], configs }).writes).toEqual([]);
    expect(look(settled.origin, { origins: [known.origin], configs }).writes).toEqual([]);
  });

  test('a copy that is deleted before it gets one leaves the MachineConfig of the other', () => {
    const writes = planRemoval(KUBELET_CONFIG, copy, known.configs);
    expect(kinds(writes)).toEqual(['mark']);
  });
});

describe('MachineConfigs that nobody claims', () => {
  const config = (name: string, owner?: Origin): KnownConfig => ({
    metadata: {
      name,
      ...(owner === undefined
        ? {}
        : {
            ownerReferences: [
              {
                apiVersion: 'x/v1',
                kind: 'KubeletConfig',
                name: 'x',
                uid: owner.metadata.uid ?? '',
              },
            ],
          }),
    },
    spec: SPEC,
  });
  const other = origin('b', {
    annotations: { [ANNOTATION.NAME_SUFFIX]: '1' },
    finalizers: ['99-worker-generated-kubelet-1'],
  });
  const removed = (...configs: readonly KnownConfig[]) =>
    look(origin('a', { annotations: { [ANNOTATION.NAME_SUFFIX]: '' } }), {
      origins: [other],
      pools: [pool('worker'), pool('infra')],
      configs,
    }).writes.flatMap((write) => (write.do === 'remove' ? [write.name] : []));

  test.each([
    ['of a selected pool', config('99-worker-generated-kubelet-7')],
    ['of a pool that is gone', config('99-gone-generated-kubelet')],
    ['of a pool that was selected', config('99-infra-generated-kubelet', origin('a'))],
  ])('go: %s', (_, stray) => {
    expect(removed(stray)).toEqual([stray.metadata.name]);
  });

  test.each([
    ['another object names it', config('99-worker-generated-kubelet-1')],
    ['another object owns it', config('99-worker-generated-kubelet-3', other)],
    ['of a pool that nobody selects', config('99-infra-generated-kubelet')],
    ['of the feature gates', config('98-worker-generated-kubelet')],
    ["a person's", config('99-worker-kubelet')],
  ])('stay: %s', (_, kept) => {
    expect(removed(kept)).toEqual([]);
  });
});

test('a ContainerRuntimeConfig keeps its three newest outcomes', () => {
  const of = (generation: number, before?: Origin): Origin => ({
    ...origin('a', { generation }),
    ...(before?.status === undefined ? {} : { status: before.status }),
  });
  let last = of(1);
  for (const generation of [1, 2, 3, 4, 5]) {
    const plan = planSync({
      kind: CONTAINER_RUNTIME_CONFIG,
      origin: of(generation, last),
      origins: [],
      pools: [pool('worker')],
      configs: [],
      version: 'v1',
      now: NOW,
      refusal: `problem ${generation}`,
      generate: () => ({ spec: SPEC }),
      defects: 'corrected',
    });
    last = after(of(generation, last), plan.writes).origin;
  }
  expect(last.status?.conditions?.map(({ message }) => message)).toEqual(
    [3, 4, 5].map((n) => `Error: problem ${n}`),
  );
});

const UID = '0a1b2c3d-0000-4000-8000-00000000000a';
const LEGACY = `99-worker-${UID}-kubelet`;

test.each([
  'x/y',
  'example.com/cleanup-kubelet',
  'cleanup-kubelet',
  'x-generated-kubelet',
  '99-worker-generated-kubelet-10',
  '99-worker-generated-containerruntime',
  'example.com/99-worker-generated-kubelet',
  UID,
])("the finalizer %s is somebody else's, and stays", (foreign) => {
  const of = origin('a', { finalizers: [foreign, '99-worker-generated-kubelet'] });
  expect(look(of).writes[0]).toMatchObject({
    do: 'mark',
    finalizers: [foreign, '99-worker-generated-kubelet'],
  });
  expect(planRemoval(KUBELET_CONFIG, of, [])).toEqual([
    { do: 'mark', annotations: {}, finalizers: [foreign] },
  ]);
  expect(planRemoval(KUBELET_CONFIG, origin('a', { finalizers: [foreign] }), [])).toEqual([]);
});

test.each([
  ['99-infra.a-generated-kubelet-9', '99-infra.a-generated-kubelet-9'],
  [LEGACY, LEGACY],
  [UID, LEGACY],
])('the finalizer %s goes with the MachineConfig %s', (finalizer, name) => {
  const config: KnownConfig = { metadata: { name, uid: UID }, spec: SPEC };
  const of = origin('a', { finalizers: [finalizer] });
  expect(planRemoval(KUBELET_CONFIG, of, [config])).toEqual([
    { do: 'remove', name },
    { do: 'mark', annotations: {}, finalizers: [] },
  ]);
});

test('deletion takes one MachineConfig at a time, and waits for none that is gone', () => {
  const of = origin('a', {
    finalizers: ['99-worker-generated-kubelet', '99-infra-generated-kubelet'],
  });
  const infra: KnownConfig = { metadata: { name: '99-infra-generated-kubelet' }, spec: SPEC };
  expect(planRemoval(KUBELET_CONFIG, of, [infra])).toEqual([
    { do: 'mark', annotations: {}, finalizers: ['99-infra-generated-kubelet'] },
  ]);
  const rest = origin('a', { finalizers: ['99-infra-generated-kubelet'] });
  expect(kinds(planRemoval(KUBELET_CONFIG, rest, [infra]))).toEqual(['remove', 'mark']);
});
