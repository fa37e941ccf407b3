import {
  CONTROLLER_CONFIGS,
  MACHINE_CONFIG_POOLS,
  MACHINE_CONFIGS,
  MACHINE_CONFIGURATIONS,
  ROLLOUT_POLICIES,
  type Resource,
  type KubeObject,
} from '../../../adapters/kube/resources';
import type { IgnitionConfig } from '../../../core/machine-config/types';
import { filledManifests } from '../crds/api-server';
import { condition, useControllers } from './fixture';

jest.setTimeout(60_000);

const fixture = useControllers();

it('the samples and the examples, filled in, render, each into what it says', async () => {
  const samples = filledManifests<KubeObject>();
  const kinds: readonly Resource[] = [
    CONTROLLER_CONFIGS,
    MACHINE_CONFIG_POOLS,
    MACHINE_CONFIGS,
    MACHINE_CONFIGURATIONS,
    ROLLOUT_POLICIES,
  ];
  for (const sample of samples) {
    const resource = kinds.find(({ kind }) => kind === sample.kind);
    if (resource === undefined) throw new Error(`no resource for ${sample.kind}`);
    await fixture.api.client.create(resource, sample);
  }
  const rendered = async (pool: string, sources: number) => {
    const { spec } = await fixture.observer.pool(
      pool,
      (one) =>
        one.spec.configuration?.source?.length === sources &&
        condition(one, 'RenderDegraded')?.status === 'False',
    );
    const { spec: merged } = await fixture.api.client.get(MACHINE_CONFIGS, {
      name: spec.configuration?.name ?? '',
    });
    return { ...merged, config: merged.config as IgnitionConfig };
  };
  const count = (role: string): number =>
    samples.filter(
      ({ kind, metadata }) =>
        kind === 'MachineConfig' &&
        metadata.labels?.['machineconfiguration.openshift.io/role'] === role,
    ).length;

  const worker = await rendered('worker', count('worker'));
  const paths = worker.config.storage?.files?.map(({ path }) => path);
  expect(paths).toContain('/etc/chrony.conf');
  expect(paths).toContain('/etc/systemd/journald.conf.d/50-size.conf');
  expect(worker.config.systemd?.units?.map(({ name }) => name)).toContain('node-report.service');
  expect(worker.config.passwd?.users?.[0]?.sshAuthorizedKeys).toHaveLength(1);
  expect(worker.kernelArguments).toEqual(['loglevel=7']);
  expect(worker.extensions).toEqual(['usbguard']);
  expect(worker.osImageURL).toContain('registry.example.com/os/node@sha256:3b6f');

  const infra = await rendered('infra', count('worker') + count('infra'));
  expect(infra.config.storage?.files?.map(({ path }) => path)).toEqual(
    expect.arrayContaining([...(paths ?? []), '/etc/sysctl.d/95-ingress.conf']),
  );

  const master = await rendered('master', count('master'));
  expect(master.osImageURL).toContain('registry.example.com/os/node@sha256:8d7a');
  expect(master.extensions).toEqual([]);
});
