import { readYamlDocument } from '../../../../adapters/manifests';
import type { GeneratedFile } from '../../../../core/generated-configs';
import {
  bootstrapKubeletConfigs,
  featureGateFiles,
  kubeletConfigFiles,
  nodeConfigParts,
  userKubeletConfig,
  type KubeletBase,
  type KubeletConfigSpec,
} from '../../../../core/kubelet';

const BASE: KubeletBase = {
  role: 'worker',
  text: [
    'kind: KubeletConfiguration',
    'enforceNodeAllocatable: [pods, system-reserved-compressible]',
    'protectKernelDefaults: true',
    'systemCgroups: /system.slice',
    'systemReservedCgroup: /system.slice',
    'tlsMinVersion: VersionTLS12',
    '',
  ].join('\n'),
};

function made(
  spec: KubeletConfigSpec,
  base: KubeletBase = BASE,
): readonly GeneratedFile[] | string {
  const result = kubeletConfigFiles(base, userKubeletConfig(spec), readYamlDocument);
  return 'error' in result ? result.error : result.files;
}

/** The lines of the fields in kubelet.conf, with those below them. */
function conf(spec: KubeletConfigSpec, fields: RegExp, base: KubeletBase = BASE): string {
  const files = made(spec, base);
  const text = typeof files === 'string' ? files : (files.at(-1)?.contents ?? '');
  return text
    .split(/\n(?![ -])/)
    .filter((line) => fields.test(line))
    .join('\n');
}

describe('the kubelet.conf of a KubeletConfig', () => {
  const CGROUPS = /^(systemReservedCgroup|enforceNodeAllocatable|invalid)/;
  test.each<readonly [unknown, string]>([
    [
      { maxPods: 5 },
      'enforceNodeAllocatable:\n- pods\n- system-reserved-compressible\nsystemReservedCgroup: /system.slice',
    ],
    [{ enforceNodeAllocatable: ['pods'] }, 'enforceNodeAllocatable:\n- pods'],
    [
      { enforceNodeAllocatable: ['system-reserved'] },
      'enforceNodeAllocatable:\n- system-reserved\nsystemReservedCgroup: /system.slice',
    ],
    [
      { enforceNodeAllocatable: ['pods'], systemReservedCgroup: '/system.slice' },
      'enforceNodeAllocatable:\n- pods\nsystemReservedCgroup: /system.slice',
    ],
    [{ reservedSystemCPUs: '0-1' }, 'enforceNodeAllocatable:\n- pods'],
    [{ reservedSystemCPUs: '0-1', systemCgroups: '/b.slice' }, 'enforceNodeAllocatable:\n- pods'],
    [
      { systemCgroups: '/b.slice' },
      'invalid merged configuration: systemReservedCgroup (/system.slice) must match systemCgroups (/b.slice)',
    ],
  ])('of %j reserves as it should', (kubeletConfig, lines) => {
    expect(conf({ kubeletConfig }, CGROUPS)).toBe(lines);
  });

  test('gives up kernel defaults only for the exact text', () => {
    const spec = { kubeletConfig: { protectKernelDefaults: false } };
    expect(conf(spec, /^protect/)).toBe('');
    expect(conf({ kubeletConfig: { ProtectKernelDefaults: false } }, /^protect/)).toBe(
      'protectKernelDefaults: true',
    );
  });

  test('takes feature gates from the cluster only', () => {
    const featureGates = { enabled: ['A', 'B'], disabled: ['B'] };
    const spec = { kubeletConfig: { featureGates: { C: true } } };
    expect(conf(spec, /^featureGates/, { ...BASE, featureGates })).toBe(
      'featureGates:\n  A: true\n  B: false',
    );
  });

  test.each([
    [{}, undefined, 'tlsMinVersion: VersionTLS12'],
    [{}, { type: 'Old' }, 'tlsMinVersion: VersionTLS10'],
    [{ tlsSecurityProfile: { type: 'Modern' } }, { type: 'Old' }, 'tlsMinVersion: VersionTLS13'],
    [
      { tlsSecurityProfile: { type: 'Custom', custom: { ciphers: ['AES128-SHA', 'RC4'] } } },
      undefined,
      '',
    ],
  ])(
    'takes the TLS profile of %j before that of the API server',
    (spec, tlsSecurityProfile, lines) => {
      expect(conf(spec, /^tlsMinVersion/, { ...BASE, tlsSecurityProfile })).toBe(lines);
    },
  );

  test.each([
    ['worker', 'LowUpdateSlowReaction', '1m0s'],
    ['worker', 'Nope', '0s'],
    ['infra', 'LowUpdateSlowReaction', '0s'],
  ])('of %s takes the latency profile %s', (role, workerLatencyProfile, frequency) => {
    const base = { ...BASE, role, node: { workerLatencyProfile } };
    expect(conf({}, /^nodeStatusUpdate/, base)).toBe(`nodeStatusUpdateFrequency: ${frequency}`);
  });

  test('is refused when YAML cannot hold a text', () => {
    expect(made({ kubeletConfig: { providerID: 'a\u007f' } })).toBe(
      'could not encode JSON: could not encode kubelet configuration: yaml: control characters are not allowed',
    );
  });

  test('needs a base that can be read', () => {
    expect(made({}, { ...BASE, text: 'maxPods: x' })).toBe(
      'could not deserialize the Kubelet source: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
    );
  });
});

describe('the file for the sizing of nodes', () => {
  test.each<readonly [KubeletConfigSpec, string | undefined]>([
    [{}, undefined],
    [{ autoSizingReserved: false }, 'false 1Gi 500m 1Gi'],
    [{ autoSizingReserved: true }, 'true 1Gi 500m 1Gi'],
    [{ kubeletConfig: { systemReserved: { pid: '5' } } }, undefined],
    [
      { kubeletConfig: { systemReserved: { 'ephemeral-storage': '2Gi', memory: '' } } },
      'false 1Gi 500m 2Gi',
    ],
  ])('%j', (spec, values) => {
    const files = made(spec);
    const text = typeof files === 'string' || files.length < 2 ? undefined : files[0]?.contents;
    expect(text?.match(/(?<==).*/g)?.join(' ')).toBe(values);
  });
});

describe('generated MachineConfigs', () => {
  test('of the FeatureGate ignore an unknown latency profile, of the Node refuse it', () => {
    const base = { ...BASE, node: { workerLatencyProfile: 'Nope' } };
    expect(featureGateFiles(base, readYamlDocument)).toHaveProperty('files');
    expect(nodeConfigParts(base, readYamlDocument)).toEqual({
      error:
        'unknown worker latency profile type found Nope, failed to update the original kubelet configuration',
    });
  });

  test('of the Node keep other kernel arguments, and refuse an unknown mode of cgroups', () => {
    expect(nodeConfigParts(BASE, readYamlDocument, ['quiet'])).toMatchObject({
      kernelArguments: ['quiet', 'systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1="all"'],
    });
    const base = { ...BASE, node: { cgroupMode: 'v1' } };
    expect(nodeConfigParts(base, readYamlDocument)).toEqual({
      error: 'unknown cgroup mode found v1, failed to update the machine config resource',
    });
  });

  test('at installation need a well-formed selector', () => {
    const selector = { matchExpressions: [{ key: 'a', operator: 'Near' }] };
    const input = {
      pools: [{ name: 'worker' }],
      baseOf: () => BASE,
      controllerVersion: 'v1',
      readYaml: readYamlDocument,
    };
    expect(bootstrapKubeletConfigs([{ selector, user: {} }], input)).toEqual({
      error: 'invalid label selector: "Near" is not a valid label selector operator',
    });
  });
});
