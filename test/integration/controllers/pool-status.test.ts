import { makeAuthority } from '../../../adapters/certificates/issue';
import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_NODES,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  NODES,
  OS_IMAGE_STREAMS,
} from '../../../adapters/kube/resources';
import { AUTHORITY_DAYS } from '../../../core/certificates';
import { CONTROLLER_CONFIG } from '../../../core/controller-config';
import { driftStatus } from '../../../core/drift';
import { ANNOTATION, FIELD_MANAGER } from '../../../core/names';
import { mcnConditions } from '../../../core/node/conditions';
import { NodePhase } from '../../../core/node/lifecycle';
import type { Condition } from '../../../core/object-meta';
import { pinnedConditions, sealedImages } from '../../../core/pinned-images';
import type { MachineConfigPool } from '../../../core/pool/types';
import { writeWithoutRules } from '../crds/without-rules';
import { conditionWriter, driftWriter } from '../../../server/cluster-watch';
import {
  aConfig,
  aFile,
  aNode,
  aPool,
  condition,
  createNode,
  metric,
  putOn,
  roleSelector,
  useControllers,
} from './fixture';

jest.setTimeout(60_000);

const fixture = useControllers();

async function aRenderedPool(name: string): Promise<string> {
  await fixture.api.client.create(
    MACHINE_CONFIGS,
    aConfig(`00-${name}`, name, [aFile(`/etc/${name}`, 'x')]),
  );
  await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool(name));
  const pool = await fixture.observer.pool(
    name,
    ({ spec }) => spec.configuration?.name !== undefined,
  );
  return pool.spec.configuration?.name ?? '';
}

const is = (type: string, status: string) => (pool: MachineConfigPool) =>
  condition(pool, type)?.status === status;

describe('the status of a pool', () => {
  it('says where the control plane allows fewer nodes at once, for as long as it does', async () => {
    for (const name of ['m1', 'm2', 'm3']) {
      await createNode(fixture.api.client, aNode(name, ['plane', 'control-plane']));
    }
    await fixture.api.client.create(MACHINE_CONFIG_POOLS, aPool('plane', { maxUnavailable: 3 }));

    const limited = await fixture.observer.pool('plane', is('ControlPlaneLimited', 'True'));
    expect(condition(limited, 'ControlPlaneLimited')).toMatchObject({
      reason: 'EtcdQuorum',
      message:
        'at most 1 of 3 control-plane nodes at once, so that etcd keeps its quorum, whatever maxUnavailable says',
    });

    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'plane' },
      { spec: { maxUnavailable: 1 } },
    );
    await fixture.observer.pool(
      'plane',
      (pool) =>
        pool.status?.observedGeneration === pool.metadata.generation &&
        condition(pool, 'ControlPlaneLimited') === undefined,
    );
  });

  it('says when certificates end, warns of one that does soon, and stops when it is rotated', async () => {
    const { client } = fixture.api;
    const authority = async (days: number) => {
      const { certificate } = await makeAuthority(
        Date.now() - (AUTHORITY_DAYS - days) * 86_400_000,
      );
      return { kubeAPIServerServingCAData: Buffer.from(certificate).toString('base64') };
    };
    await client.create(MACHINE_CONFIG_POOLS, aPool('ending'));
    const metadata = { name: CONTROLLER_CONFIG };
    const config = { metadata, spec: await authority(5) };
    await client.create(CONTROLLER_CONFIGS, config);

    const ending = await fixture.observer.pool('ending', is('CertificatesExpiring', 'True'));
    expect(condition(ending, 'CertificatesExpiring')).toMatchObject({
      reason: 'Within7Days',
      message: expect.stringMatching(
        /^KubeAPIServerServingCAData: CN=slipway-server-ca@\d+ ends on /,
      ) as string,
    });
    const [first] = ending.status?.certExpirys ?? [];
    expect(first).toMatchObject({ bundle: 'KubeAPIServerServingCAData' });
    expect(
      await metric(fixture.controllers.metrics, 'slipway_certificate_expiry_seconds', {
        bundle: 'KubeAPIServerServingCAData',
        subject: first?.subject ?? '',
      }),
    ).toBeGreaterThan(4 * 86_400);

    await client.patch(
      CONTROLLER_CONFIGS,
      { name: CONTROLLER_CONFIG },
      { spec: await authority(300) },
    );
    await fixture.observer.pool(
      'ending',
      (pool) => condition(pool, 'CertificatesExpiring') === undefined,
    );
    await client.delete(CONTROLLER_CONFIGS, { name: CONTROLLER_CONFIG });
  });

  it('follows its nodes, and its configuration follows when the last one is done', async () => {
    const config = await aRenderedPool('worker');
    for (const name of ['w1', 'w2']) await createNode(fixture.api.client, aNode(name, ['worker']));

    const updating = await fixture.observer.pool(
      'worker',
      (pool) => pool.status?.machineCount === 2 && is('Updating', 'True')(pool),
    );
    expect(updating.status).toMatchObject({ updatedMachineCount: 0, unavailableMachineCount: 2 });
    expect(condition(updating, 'Updating')?.message).toBe(
      `All nodes are updating to MachineConfig ${config}`,
    );

    await putOn(fixture.api.client, 'w1', config);
    const half = await fixture.observer.pool(
      'worker',
      ({ status }) => status?.updatedMachineCount === 1,
    );
    expect(condition(half, 'Updated')?.status).toBe('False');

    await putOn(fixture.api.client, 'w2', config);
    const updated = await fixture.observer.pool('worker', is('Updated', 'True'));
    expect(updated.status).toMatchObject({
      machineCount: 2,
      updatedMachineCount: 2,
      readyMachineCount: 2,
      unavailableMachineCount: 0,
      degradedMachineCount: 0,
      configuration: { name: config },
      poolSynchronizersStatus: [
        {
          poolSynchronizerType: 'PinnedImageSets',
          machineCount: 2,
          updatedMachineCount: 2,
          readyMachineCount: 2,
          availableMachineCount: 2,
          unavailableMachineCount: 0,
        },
      ],
    });
    expect(updated.status?.osImageStream).toBeUndefined();
    expect(
      await metric(fixture.controllers.metrics, 'mco_updated_machine_count', { pool: 'worker' }),
    ).toBe(2);
  });

  it('counts no node of a pool with pinned images before its host says that it has them', async () => {
    const { client } = fixture.api;
    const spec = { pinnedImageSets: [{ name: 'release' }] };
    await client.patch(MACHINE_CONFIG_POOLS, { name: 'worker' }, { spec });
    const hasThem = (count: number) => (pool: MachineConfigPool) =>
      pool.status?.poolSynchronizersStatus?.[0]?.updatedMachineCount === count;
    await fixture.observer.pool('worker', hasThem(0));

    const given = { pinned: sealedImages('worker', []), problems: [] };
    const said = { given: given.pinned.digest, present: 0 };
    const shown: Condition[] = [
      { type: 'PinnedImageSetsDegraded', status: 'False', reason: 'AsExpected', message: '' },
    ];
    const known = { status: { conditions: shown } };
    const conditions = pinnedConditions(said, given, known, '2030-01-01T00:00:00Z');
    await conditionWriter(client, FIELD_MANAGER.SERVER_PINNED)('w1', conditions);
    await fixture.observer.pool('worker', hasThem(1));
  });

  it('names the stream whose image all nodes have, until the pool updates', async () => {
    const { client } = fixture.api;
    const osImageURL = `registry.example.com/os@sha256:${'9'.repeat(64)}`;
    const availableStreams = [
      { name: 'rhel-9', osImage: osImageURL, osExtensionsImage: osImageURL },
    ];
    const metadata = { name: 'cluster' };
    await client.apply(OS_IMAGE_STREAMS, { metadata, spec: {} }, { fieldManager: 'mco' });
    const status = { defaultStream: 'rhel-9', availableStreams };
    const how = { fieldManager: 'mco', subresource: 'status' };
    await client.apply(OS_IMAGE_STREAMS, { metadata, status }, how);
    const before = await fixture.observer.pool('worker', is('Updated', 'True'));
    const object = aConfig('50-os', 'worker', []);
    await client.create(MACHINE_CONFIGS, { ...object, spec: { ...object.spec, osImageURL } });
    const target = await fixture.observer.pool(
      'worker',
      ({ spec }) => spec.configuration?.name !== before.spec.configuration?.name,
    );
    const [old = '', config = ''] = [before, target].map(({ spec }) => spec.configuration?.name);
    for (const node of ['w1', 'w2']) await putOn(client, node, config);
    const there = ({ status: now }: MachineConfigPool) => now?.osImageStream?.name === 'rhel-9';
    await fixture.observer.pool('worker', there);

    await putOn(client, 'w2', old);
    await fixture.observer.pool('worker', (pool) => !there(pool));
    await putOn(client, 'w2', config);
    await fixture.observer.pool('worker', there);
  });

  it('counts and names a failed node, and degrades the pool', async () => {
    const prefix = 'machineconfiguration.openshift.io';
    await fixture.api.client.patch(
      NODES,
      { name: 'w1' },
      {
        metadata: {
          annotations: {
            [`${prefix}/desiredConfig`]: 'rendered-worker-next',
            [`${prefix}/state`]: 'Degraded',
            [`${prefix}/reason`]: 'disk full',
          },
        },
      },
    );

    const degraded = await fixture.observer.pool('worker', is('Degraded', 'True'));
    expect(condition(degraded, 'NodeDegraded')).toMatchObject({
      status: 'True',
      message: expect.stringContaining('Node w1 is reporting: "disk full"') as string,
    });
    expect(degraded.status?.degradedMachineCount).toBe(1);
  });

  it('is not written when nothing changed', async () => {
    await aRenderedPool('calm');
    // The render controller may write after the status. A pool that was seen before its MachineConfig was degraded
    // until then, which the status corrects last.
    const isCalm = (pool: MachineConfigPool): boolean =>
      is('Updated', 'True')(pool) &&
      is('RenderDegraded', 'False')(pool) &&
      is('Degraded', 'False')(pool) &&
      pool.status?.configuration?.name === pool.spec.configuration?.name;
    await fixture.observer.pool('calm', isCalm);
    const before = await fixture.api.client.get(MACHINE_CONFIG_POOLS, { name: 'calm' });
    const changes = fixture.observer.record(fixture.observer.pools);

    // Triggers the status of every pool; the status of another pool then shows that all are handled.
    await createNode(fixture.api.client, aNode('w3', ['worker']));
    await fixture.observer.pool('worker', ({ status }) => status?.machineCount === 3);

    const after = await fixture.api.client.get(MACHINE_CONFIG_POOLS, { name: 'calm' });
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    expect(changes.filter(({ object }) => object.metadata.name === 'calm')).toEqual([]);
  });

  it('says that a paused pool does not update', async () => {
    await fixture.api.client.patch(
      MACHINE_CONFIG_POOLS,
      { name: 'worker' },
      { spec: { paused: true } },
    );

    const paused = await fixture.observer.pool('worker', is('Updating', 'False'));

    expect(condition(paused, 'Updating')?.message).toContain('Pool is paused; will not update to');
  });
});

describe('a node in two custom pools', () => {
  it('is named on both pools, with what to do, and counts in neither', async () => {
    for (const name of ['infra', 'gpu']) {
      await fixture.api.client.create(
        MACHINE_CONFIGS,
        aConfig(`00-${name}`, name, [aFile(`/etc/${name}`, 'x')]),
      );
      await fixture.api.client.create(
        MACHINE_CONFIG_POOLS,
        aPool(name, { machineConfigSelector: roleSelector('worker', name) }),
      );
    }
    await createNode(fixture.api.client, aNode('torn', ['worker', 'infra', 'gpu']));

    for (const name of ['infra', 'gpu']) {
      const pool = await fixture.observer.pool(name, is('Degraded', 'True'));
      expect(condition(pool, 'Degraded')).toMatchObject({
        reason: 'NodeInSeveralPools',
        message:
          'node torn (gpu, infra): in more than one custom pool, so no pool updates it; ' +
          'remove all but one of the custom role labels',
      });
      expect(pool.status?.machineCount).toBe(0);
    }
    expect(await metric(fixture.controllers.metrics, 'mcc_pool_alert', { node: 'torn' })).toBe(1);
    const warnings = fixture.controllers.lines.filter((line) => line.includes('"level":40'));
    expect(warnings.some((line) => line.includes('node torn (gpu, infra)'))).toBe(true);

    await fixture.api.client.patch(
      NODES,
      { name: 'torn' },
      {
        metadata: { labels: { 'node-role.kubernetes.io/gpu': null } },
      },
    );
    await fixture.observer.pool('gpu', is('Degraded', 'False'));
    const infra = await fixture.observer.pool('infra', ({ status }) => status?.machineCount === 1);
    expect(condition(infra, 'Degraded')?.status).toBe('False');
  });
});

describe('a MachineConfigNode', () => {
  it('comes with its node, follows it to another pool, and goes with it', async () => {
    await aRenderedPool('edge');
    await createNode(fixture.api.client, aNode('moving', ['worker']));
    await fixture.observer.until(
      fixture.observer.nodes,
      () => fixture.observer.nodes.get('moving')?.spec.pool.name === 'worker',
    );
    const created = fixture.observer.nodes.get('moving');
    expect(created?.spec).toEqual({
      node: { name: 'moving' },
      pool: { name: 'worker' },
      configVersion: { desired: 'not-yet-set' },
    });
    expect(created?.metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'Node', name: 'moving' }),
    ]);

    await fixture.api.client.patch(
      NODES,
      { name: 'moving' },
      {
        metadata: { labels: { 'node-role.kubernetes.io/edge': '' } },
      },
    );
    await fixture.observer.until(
      fixture.observer.nodes,
      () => fixture.observer.nodes.get('moving')?.spec.pool.name === 'edge',
    );

    await fixture.api.client.delete(NODES, { name: 'moving' });
    await fixture.observer.until(
      fixture.observer.nodes,
      () => fixture.observer.nodes.get('moving') === undefined,
    );
  });

  it('with what its host came with makes its node a member, also of a pool that rolls nothing', async () => {
    const config = await aRenderedPool('still');
    const { client } = fixture.api;
    await client.patch(MACHINE_CONFIG_POOLS, { name: 'still' }, { spec: { paused: true } });
    await createNode(client, aNode('joined', ['still']));
    const waiting = await fixture.observer.pool(
      'still',
      ({ status }) => status?.machineCount === 1,
    );
    expect(waiting.status).toMatchObject({ updatedMachineCount: 0, unavailableMachineCount: 1 });
    const { nodes } = fixture.observer;
    await fixture.observer.until(nodes, () => nodes.get('joined') !== undefined);

    const report = { config, findings: [], count: 0, repairs: [], forced: false };
    const status = driftStatus('joined', report, undefined, '2030-01-01T00:00:00Z');
    await driftWriter(client)('joined', status);

    await fixture.observer.pool('still', ({ status }) => status?.readyMachineCount === 1);
    const isShown = (): boolean =>
      nodes
        .get('joined')
        ?.status?.conditions?.some(
          ({ type, status }) => type === 'Updated' && status === 'True',
        ) === true;
    await fixture.observer.until(nodes, isShown);
    expect(nodes.get('joined')?.status?.configVersion).toEqual({
      current: config,
      desired: config,
    });
    expect((await client.get(NODES, { name: 'joined' })).metadata.annotations).toMatchObject({
      'machineconfiguration.openshift.io/currentConfig': config,
      'machineconfiguration.openshift.io/desiredConfig': config,
      'machineconfiguration.openshift.io/state': 'Done',
    });
  });

  it('says the end of an update that was lost when only its Node had said it', async () => {
    const config = await aRenderedPool('lost');
    const { client } = fixture.api;
    const { nodes } = fixture.observer;
    await createNode(client, aNode('unsaid', ['lost']));
    await fixture.observer.until(nodes, () => nodes.get('unsaid') !== undefined);
    const manager = { fieldManager: FIELD_MANAGER.CLUSTER_WORKER };
    const metadata = { name: 'unsaid' };
    const configVersion = { desired: config };
    const spec = { node: { name: 'unsaid' }, pool: { name: 'lost' }, configVersion };
    await client.apply(MACHINE_CONFIG_NODES, { metadata, spec }, manager);
    const now = '2030-01-01T00:00:00Z';
    const conditions = mcnConditions(NodePhase.REBOOTING, undefined, { config, now });
    const status = { observedGeneration: 1, configVersion, conditions };
    const ofStatus = { ...manager, subresource: 'status' };
    await client.apply(MACHINE_CONFIG_NODES, { metadata, status }, ofStatus);

    const annotations = { [ANNOTATION.UPDATE_RUN]: `v1/${now}/run-1/over` };
    await client.patch(NODES, { name: 'unsaid' }, { metadata: { annotations } });
    await putOn(client, 'unsaid', config);

    const said = () => nodes.get('unsaid')?.status;
    const isUpdated = (): boolean =>
      said()?.conditions?.some(({ type, status: is }) => type === 'Updated' && is === 'True') ===
      true;
    await fixture.observer.until(nodes, isUpdated);
    expect(said()?.configVersion).toEqual({ current: config, desired: config });
    expect(said()?.conditions?.filter(({ status: is }) => is === 'Unknown')).toEqual([]);
  });

  it('is made again when somebody deletes it', async () => {
    const before = fixture.observer.nodes.get('w2')?.metadata.uid;

    await fixture.api.client.delete(MACHINE_CONFIG_NODES, { name: 'w2' });

    await fixture.observer.until(fixture.observer.nodes, () => {
      const uid = fixture.observer.nodes.get('w2')?.metadata.uid;
      return uid !== undefined && uid !== before;
    });
  });
});

describe('fields that the API server would refuse today', () => {
  async function createWithoutRules(pool: MachineConfigPool): Promise<void> {
    const { client } = fixture.api;
    const name = 'machineconfigpools.machineconfiguration.openshift.io';
    await writeWithoutRules(client, name, () => client.create(MACHINE_CONFIG_POOLS, pool));
  }

  it.each<[string, number | string, string]>([
    ['zero', 0, 'spec.maxUnavailable is 0'],
    ['negative', -2, 'spec.maxUnavailable is -2'],
    ['too-much', '150%', 'spec.maxUnavailable is "150%"'],
    ['no-number', 'abc', 'spec.maxUnavailable is "abc"'],
  ])('maxUnavailable %s degrades the pool and names the fix', async (name, value, naming) => {
    await fixture.api.client.create(
      MACHINE_CONFIGS,
      aConfig(`00-${name}`, name, [aFile('/etc/x', 'x')]),
    );
    await createWithoutRules(aPool(name, { maxUnavailable: value }));

    const pool = await fixture.observer.pool(name, is('Degraded', 'True'));

    expect(condition(pool, 'Degraded')).toMatchObject({ reason: 'InvalidPool' });
    const message = condition(pool, 'Degraded')?.message ?? '';
    expect(message).toContain(naming);
    expect(message).toContain('set an integer of at least 1, or a percentage');
  });

  it('a pool without selectors says which are missing', async () => {
    await createWithoutRules({ metadata: { name: 'bare' }, spec: {} });

    const pool = await fixture.observer.pool(
      'bare',
      (one) => is('Degraded', 'True')(one) && is('RenderDegraded', 'True')(one),
    );

    expect(condition(pool, 'RenderDegraded')).toMatchObject({
      reason: 'InvalidPool',
      message: expect.stringContaining('spec.machineConfigSelector is missing') as string,
    });
    expect(condition(pool, 'Degraded')?.message).toContain('spec.nodeSelector is missing');
  });
});
