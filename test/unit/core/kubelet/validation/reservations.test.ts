import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { judged } from './judged';

judged([
  ...['systemReserved', 'kubeReserved'].flatMap((field) => [
    {
      about: `an amount of ${field} that is no quantity`,
      refused: { [field]: { cpu: '500x' } },
      at: `${field}.cpu`,
      says: 'is "500x", which is no quantity',
      fix: 'write a quantity such as 500m',
      accepted: { [field]: { cpu: '500m' } },
    },
    {
      about: `a negative amount of ${field}`,
      refused: { [field]: { memory: '-1Gi' } },
      at: `${field}.memory`,
      says: 'is "-1Gi", which is negative',
      fix: 'write a quantity such as 1Gi',
      accepted: { [field]: { memory: '0' } },
    },
    {
      about: `a resource of ${field} that cannot be reserved`,
      refused: { [field]: { 'hugepages-1Gi': '1Gi' } },
      at: `${field}.hugepages-1Gi`,
      says: '"hugepages-1Gi" cannot be reserved',
      accepted: { [field]: { pid: '1000', 'ephemeral-storage': '1Gi' } },
    },
  ]),
]);

it('reads the flag instead of the file', () => {
  const document = { systemReserved: { memory: 'much' } };

  expect(kubeletProblems(document, { systemReserved: { memory: '1Gi' } })).toEqual([]);
  expect(kubeletProblems({}, { systemReserved: { memory: 'much' } })).toHaveLength(1);
});

judged([
  {
    about: 'CPUs that are no list',
    refused: { reservedSystemCPUs: 'one' },
    at: 'reservedSystemCPUs',
    says: '"one" is no CPU and no range of CPUs',
    fix: 'write a list such as 0-3,8',
    accepted: { reservedSystemCPUs: '1' },
  },
  {
    about: 'a range of CPUs that ends before it begins',
    refused: { reservedSystemCPUs: '0,3-2' },
    at: 'reservedSystemCPUs',
    says: 'the range "3-2" ends before it begins',
    accepted: { reservedSystemCPUs: '0,2-3,3-3' },
  },
  {
    about: 'an empty entry of CPUs',
    refused: { reservedSystemCPUs: '0,' },
    at: 'reservedSystemCPUs',
    says: '"" is no CPU and no range of CPUs',
    accepted: { reservedSystemCPUs: '' },
  },
  {
    about: 'a CPU that no machine has',
    refused: { reservedSystemCPUs: '0-99999999999' },
    at: 'reservedSystemCPUs',
    says: '"0-99999999999" names a CPU that no machine has',
    accepted: { reservedSystemCPUs: '0-8191' },
  },
  ...['systemReservedCgroup', 'kubeReservedCgroup'].map((cgroup) => ({
    about: `CPUs beside ${cgroup}`,
    refused: { reservedSystemCPUs: '0', [cgroup]: '/a.slice' },
    at: 'reservedSystemCPUs',
    says: `cannot be combined with ${cgroup}`,
    accepted: { reservedSystemCPUs: '0', [cgroup]: '' },
  })),
  {
    about: 'amounts of cpu that reservedSystemCPUs does not replace',
    refused: { kubeReserved: { memory: 'much' }, reservedSystemCPUs: '0' },
    at: 'kubeReserved.memory',
    says: 'is "much", which is no quantity',
    accepted: { kubeReserved: { cpu: 'much' }, reservedSystemCPUs: '0' },
  },
  {
    about: 'a share of CPU for the classes of pods',
    refused: { qosReserved: { cpu: '50%' } },
    at: 'qosReserved.cpu',
    says: '"cpu" cannot be reserved',
    accepted: { qosReserved: {} },
  },
  {
    about: 'a share that is above all',
    refused: { qosReserved: { memory: '101%' } },
    at: 'qosReserved.memory',
    says: 'is "101%", which is no whole percentage from 0% to 100%',
    accepted: { qosReserved: { memory: '100%' } },
  },
  {
    about: 'a share that is not whole',
    refused: { qosReserved: { memory: '0.5%' } },
    at: 'qosReserved.memory',
    says: 'is "0.5%", which is no whole percentage from 0% to 100%',
    accepted: { qosReserved: { memory: '0%' } },
  },
]);

describe('enforcement with cgroups', () => {
  const system = { systemReservedCgroup: '/system.slice', systemReserved: { cpu: '500m' } };
  const kube = { kubeReservedCgroup: '/kube.slice', kubeReserved: { cpu: '500m' } };
  judged([
    {
      about: 'an unknown level',
      refused: { enforceNodeAllocatable: ['pods', 'nodes'] },
      at: 'enforceNodeAllocatable.1',
      says: 'is "nodes", which is unknown',
      accepted: { enforceNodeAllocatable: ['pods'] },
    },
    {
      about: 'a level that is there twice',
      refused: { enforceNodeAllocatable: ['pods', 'pods'] },
      at: 'enforceNodeAllocatable.1',
      says: 'is "pods" a second time',
      accepted: { enforceNodeAllocatable: [] },
    },
    {
      about: 'none beside another level',
      refused: { enforceNodeAllocatable: ['none', 'pods'] },
      at: 'enforceNodeAllocatable.0',
      says: 'is "none", which excludes every other entry',
      accepted: { enforceNodeAllocatable: ['none'], cgroupsPerQOS: false },
    },
    {
      about: 'both kinds of a level',
      refused: {
        enforceNodeAllocatable: ['system-reserved', 'system-reserved-compressible'],
        ...system,
      },
      at: 'enforceNodeAllocatable.1',
      says: 'is "system-reserved-compressible", which excludes "system-reserved"',
      accepted: {
        enforceNodeAllocatable: ['system-reserved', 'kube-reserved-compressible'],
        ...system,
        ...kube,
      },
    },
    {
      about: 'a level of the system without a cgroup',
      refused: { enforceNodeAllocatable: ['system-reserved'] },
      at: 'enforceNodeAllocatable.0',
      says: 'is "system-reserved", but systemReservedCgroup is not set',
      accepted: { enforceNodeAllocatable: ['system-reserved'], ...system },
    },
    {
      about: 'a level of the kubelet without a cgroup',
      refused: { enforceNodeAllocatable: ['kube-reserved'] },
      at: 'enforceNodeAllocatable.0',
      says: 'is "kube-reserved", but kubeReservedCgroup is not set',
      accepted: { enforceNodeAllocatable: ['kube-reserved'], ...kube },
    },
    {
      about: 'a level of the kubelet without a reservation',
      refused: { enforceNodeAllocatable: ['kube-reserved'], kubeReservedCgroup: '/kube.slice' },
      at: 'enforceNodeAllocatable.0',
      says: 'is "kube-reserved", but kubeReserved is empty',
      accepted: { enforceNodeAllocatable: ['kube-reserved'], ...kube },
    },
    {
      about: 'a level of the system without a reservation',
      refused: {
        enforceNodeAllocatable: ['system-reserved-compressible'],
        systemReservedCgroup: '/system.slice',
      },
      at: 'enforceNodeAllocatable.0',
      says: 'is "system-reserved-compressible", but systemReserved is empty',
      accepted: { enforceNodeAllocatable: ['system-reserved-compressible'], ...system },
    },
    {
      about: 'enforcement by default without cgroups of pods',
      refused: { cgroupsPerQOS: false },
      at: 'cgroupsPerQOS',
      says: 'is false, but enforceNodeAllocatable has "pods"',
      accepted: { cgroupsPerQOS: false, enforceNodeAllocatable: [] },
    },
    {
      about: 'a cgroup of the system without a root',
      refused: { systemCgroups: '/system.slice' },
      at: 'systemCgroups',
      says: 'is "/system.slice", but cgroupRoot is not set',
      accepted: { systemCgroups: '/system.slice', cgroupRoot: '/' },
    },
  ]);

  it('knows reservations that reach the kubelet beside its file', () => {
    const document = {
      enforceNodeAllocatable: ['pods', 'system-reserved-compressible'],
      systemReservedCgroup: '/system.slice',
    };

    expect(kubeletProblems(document, { systemReserved: { cpu: '500m' } })).toEqual([]);
    expect(kubeletProblems(document, { sizedByItself: true })).toEqual([]);
    expect(kubeletProblems(document, { systemReserved: {} })).toHaveLength(1);
  });
});
