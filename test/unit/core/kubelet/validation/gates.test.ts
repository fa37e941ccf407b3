import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { FEATURE_GATES } from '../../../../../core/kubelet/validation/feature-gates';
import { KUBELET_VERSION } from '../../../../../core/kubelet/validation/version';
import { sourceOf } from '../../../../../tools/binaries/catalogue';
import { judged, shownAs } from './judged';

judged([
  {
    about: 'an unknown gate',
    refused: { featureGates: { NodeSwapp: true } },
    at: 'featureGates.NodeSwapp',
    says: '"NodeSwapp" is no feature gate of Kubernetes 1.36',
    accepted: { featureGates: { NodeSwap: true } },
  },
  {
    about: 'a locked gate',
    refused: { featureGates: { NodeSwap: false } },
    at: 'featureGates.NodeSwap',
    says: 'is false, but this version of the kubelet locks it to true',
    fix: 'remove it',
    accepted: { featureGates: {} },
  },
  {
    about: 'a gate without the one that it needs',
    refused: { featureGates: { GangScheduling: true } },
    at: 'featureGates.GangScheduling',
    says: 'GangScheduling is on, but needs GenericWorkload, which is off',
    fix: 'set GenericWorkload to true, or GangScheduling to false',
    accepted: { featureGates: { GangScheduling: true, GenericWorkload: true } },
  },
  {
    about: 'a gate that another needs by default',
    refused: {
      featureGates: { GracefulNodeShutdown: false, WindowsGracefulNodeShutdown: false },
    },
    at: 'featureGates.GracefulNodeShutdown',
    says: 'GracefulNodeShutdownBasedOnPodPriority is on, but needs GracefulNodeShutdown, which is off',
    accepted: {
      featureGates: {
        GracefulNodeShutdown: false,
        GracefulNodeShutdownBasedOnPodPriority: false,
        WindowsGracefulNodeShutdown: false,
      },
    },
  },
]);

it('turns on all gates of a stage, but those that are written', () => {
  const options = {
    cpuManagerPolicy: 'static',
    systemReserved: { cpu: '1' },
    cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
  };
  const written = { AllAlpha: true, CPUManagerPolicyAlphaOptions: false };

  expect(kubeletProblems({ ...options, featureGates: { AllAlpha: true } })).toEqual([]);
  expect(kubeletProblems({ ...options, featureGates: written }).map(shownAs)).toEqual([
    {
      at: 'cpuManagerPolicyOptions.align-by-socket',
      says: 'needs the feature gate CPUManagerPolicyAlphaOptions, which is off',
    },
  ]);
});

it('names a whole stage where it alone is written', () => {
  const problems = kubeletProblems({ featureGates: { AllAlpha: true, AllBeta: false } });

  expect(problems.length).toBeGreaterThan(0);
  expect(problems.map(({ path }) => path[1])).toEqual(problems.map(() => 'AllAlpha'));
  expect(kubeletProblems({ featureGates: { AllBeta: false } })).toEqual([]);
});

it('has the version of the kubelet that tests run', () => {
  const { major, minor } = KUBELET_VERSION;

  expect(sourceOf('kubelet').version).toMatch(new RegExp(`^${major}\\.${minor}\\.`));
});

it('knows each gate once, and those that others need', () => {
  const needed = [...FEATURE_GATES.values()].flatMap(({ needs }) => needs);

  expect(needed.filter((name) => !FEATURE_GATES.has(name))).toEqual([]);
  expect(needed.length).toBeGreaterThan(40);
});
