/** Annotations of MachineConfigNodes at a real API server, with the rights of the cluster worker. */

import { MACHINE_CONFIG_NODES, NODES } from '../../../adapters/kube/resources';
import { MachineConfigNodeWriter } from '../../../adapters/kube/writers';
import { ANNOTATION, FIELD_MANAGER } from '../../../core/names';
import { startCaches, startKubeFixture, type KubeFixture, type RunningCaches } from './fixture';

jest.setTimeout(120_000);

let kube: KubeFixture;
let running: RunningCaches;
let writer: MachineConfigNodeWriter;

beforeAll(async () => {
  kube = await startKubeFixture();
  running = await startCaches(kube.worker, kube.log);
  const { machineConfigNodes } = running.caches;
  writer = new MachineConfigNodeWriter(
    kube.worker,
    machineConfigNodes,
    FIELD_MANAGER.CLUSTER_WORKER,
  );
});

afterAll(async () => {
  await running.stop();
  await kube.stop();
});

it('writes an annotation, whatever else is written meanwhile, and its cache shows it at once', async () => {
  const node = await kube.admin.create(NODES, { metadata: { name: 'w1' } });
  const spec = {
    node: { name: 'w1' },
    pool: { name: 'worker' },
    configVersion: { desired: 'rendered-a' },
  };
  await writer.applySpec({ name: 'w1', uid: node.metadata.uid ?? '' }, spec);
  const theirs = { metadata: { annotations: { theirs: 'kept' } } };
  await kube.admin.patch(MACHINE_CONFIG_NODES, { name: 'w1' }, theirs);

  await writer.annotate('w1', { [ANNOTATION.PREPARED]: 'one' });
  await writer.annotate('w1', { [ANNOTATION.PREPARED]: 'two' });

  const { metadata, spec: kept } = await writer.read('w1');
  expect(metadata.annotations).toEqual({ theirs: 'kept', [ANNOTATION.PREPARED]: 'two' });
  expect(kept).toMatchObject(spec);
  const cached = running.caches.machineConfigNodes.get('w1');
  expect(cached?.metadata.annotations?.[ANNOTATION.PREPARED]).toBe('two');
});

it('says so where there is none', async () => {
  await expect(writer.annotate('gone', { a: 'b' })).rejects.toMatchObject({
    name: 'ObjectNotFound',
  });
});
