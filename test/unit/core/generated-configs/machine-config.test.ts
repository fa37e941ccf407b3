import {
  bootstrapOwner,
  generatedMachineConfig,
  generatedSpec,
  KUBELET_CONFIG,
  originOwner,
} from '../../../../core/generated-configs';

describe('generated MachineConfigs', () => {
  test('have a role, a version, an owner and sources as MCO writes them', () => {
    const generated = generatedMachineConfig({
      name: '99-infra-generated-kubelet-1',
      pool: 'infra',
      spec: generatedSpec({ files: [{ path: '/etc/a', contents: 'é\n' }], kernelArguments: ['a'] }),
      controllerVersion: 'v1',
      owner: originOwner(KUBELET_CONFIG, { name: 'kc', uid: 'u-1' }),
    });
    expect(generated).toEqual({
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'MachineConfig',
      metadata: {
        name: '99-infra-generated-kubelet-1',
        labels: { 'machineconfiguration.openshift.io/role': 'infra' },
        annotations: { 'machineconfiguration.openshift.io/generated-by-controller-version': 'v1' },
        ownerReferences: [
          {
            apiVersion: 'machineconfiguration.openshift.io/v1',
            kind: 'KubeletConfig',
            name: 'kc',
            uid: 'u-1',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: {
        config: {
          ignition: { version: '3.5.0' },
          storage: {
            files: [
              {
                path: '/etc/a',
                mode: 0o644,
                overwrite: true,
                contents: {
                  compression: '',
                  source: 'data:text/plain;charset=utf-8;base64,w6kK',
                },
              },
            ],
          },
        },
        kernelArguments: ['a'],
      },
    });
  });

  test('may have no files, no version and no owner', () => {
    const spec = generatedSpec({ files: [] });
    expect(spec).toEqual({ config: { ignition: { version: '3.5.0' } } });
    expect(generatedMachineConfig({ name: 'a', pool: 'infra', spec }).metadata).toEqual({
      name: 'a',
      labels: { 'machineconfiguration.openshift.io/role': 'infra' },
    });
  });

  test('at installation know the kind of their owner', () => {
    expect(bootstrapOwner(KUBELET_CONFIG)).toEqual({
      apiVersion: 'machineconfiguration.openshift.io/v1',
      kind: 'KubeletConfig',
      name: '',
      uid: '',
    });
  });
});
