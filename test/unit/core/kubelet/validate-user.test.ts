import { readYamlDocument } from '../../../../adapters/manifests';
import {
  isControlPlanePool,
  staticPodPathError,
  userKubeletConfig,
  userKubeletConfigError,
  type KubeletConfigSpec,
} from '../../../../core/kubelet';
import type { LabelSelector } from '../../../../core/object-meta';

const MASTER = 'node-role.kubernetes.io/master';

describe('what a user may not set', () => {
  test.each<readonly [KubeletConfigSpec, string | undefined]>([
    [{}, undefined],
    [{ logLevel: 10 }, undefined],
    [{ logLevel: -1 }, "KubeletConfig's LogLevel is not valid [0,10]: -1"],
    [{ kubeletConfig: null, logLevel: null, tlsSecurityProfile: null }, undefined],
    [{ kubeletConfig: { maxPods: -5 } }, undefined],
    [
      { kubeletConfig: { cgroupDriver: 'cgroupfs' } },
      'KubeletConfiguration: cgroupDriver is not allowed to be set, but contains: cgroupfs',
    ],
    [
      { kubeletConfig: { featureGates: { b: false, a: true } } },
      'KubeletConfiguration: featureGates is not allowed to be set, but contains: map[a:true b:false]',
    ],
    [
      { kubeletConfig: { failSwapOn: false } },
      'KubeletConfiguration: failSwapOn is not allowed to be set, but contains: false',
    ],
    [{ kubeletConfig: { failSwapOn: null, memorySwap: {}, clusterDNS: [] } }, undefined],
    [{ kubeletConfig: { systemReserved: {} }, autoSizingReserved: true }, undefined],
    [{ kubeletConfig: { systemReservedCgroup: '/a', systemCgroups: '/a' } }, undefined],
    [
      { kubeletConfig: { maxPods: 'x' } },
      'KubeletConfig could not be unmarshalled, err: json: cannot unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32',
    ],
  ])('%j', (spec, error) => {
    expect(userKubeletConfigError(userKubeletConfig(spec), readYamlDocument)).toBe(error);
  });
});

describe('pools of the control plane', () => {
  test.each<readonly [string, LabelSelector | undefined, boolean]>([
    ['master', undefined, true],
    ['arbiter', undefined, true],
    ['worker', undefined, false],
    ['cp', { matchLabels: { [MASTER]: '' } }, true],
    ['cp', { matchExpressions: [{ key: MASTER, operator: 'Exists' }] }, true],
    ['cp', { matchExpressions: [{ key: MASTER, operator: 'DoesNotExist' }] }, false],
    ['infra', { matchLabels: { 'node-role.kubernetes.io/infra': '' } }, false],
  ])('%s with %j: %s', (name, nodeSelector, is) => {
    expect(isControlPlanePool({ name, nodeSelector })).toBe(is);
  });
});

describe('the folder of static pods', () => {
  const refused = 'KubeletConfiguration: staticPodPath';
  test.each<readonly [string, unknown, string | undefined]>([
    ['worker', { staticPodPath: '' }, undefined],
    [
      'worker',
      { staticPodPath: '/x' },
      `${refused} must be empty for pool "worker", but contains: /x`,
    ],
    ['worker', { maxPods: 5 }, undefined],
    ['worker', undefined, undefined],
    [
      'master',
      { staticPodPath: '/x' },
      `${refused} is not allowed to be set for control plane pool "master"`,
    ],
    ['master', { staticPodPath: null }, undefined],
    [
      'master',
      { StaticPodPath: '' },
      `${refused} is not allowed to be set for control plane pool "master"`,
    ],
  ])('%s with %j', (name, kubeletConfig, error) => {
    const user = userKubeletConfig({ kubeletConfig });
    expect(staticPodPathError(user, { name }, readYamlDocument)).toBe(error);
  });
});
