import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { judged, shownAs } from './judged';

describe('the memory manager', () => {
  const memory = (amount: string, numaNode = 0): object => ({
    numaNode,
    limits: { memory: amount },
  });
  const reserved = (...reservedMemory: readonly object[]): object => ({
    memoryManagerPolicy: 'Static',
    systemReserved: { memory: '1Gi' },
    kubeReserved: { memory: '500Mi' },
    evictionHard: { 'memory.available': '100Mi' },
    reservedMemory,
  });
  judged([
    {
      about: 'a resource that no NUMA node has',
      refused: { reservedMemory: [{ numaNode: 0, limits: { cpu: '1' } }] },
      at: 'reservedMemory.0.limits.cpu',
      says: '"cpu" cannot be reserved on a NUMA node',
      accepted: { reservedMemory: [{ numaNode: 0, limits: { 'hugepages-2Mi': '1Gi' } }] },
    },
    {
      about: 'an amount of zero',
      refused: { reservedMemory: [memory('0')] },
      at: 'reservedMemory.0.limits.memory',
      says: 'is "0", which is zero',
      accepted: { reservedMemory: [memory('1')] },
    },
    {
      about: 'an amount that is no quantity',
      refused: { reservedMemory: [memory('1GB')] },
      at: 'reservedMemory.0.limits.memory',
      says: 'is "1GB", which is no quantity',
      accepted: { reservedMemory: [memory('1G')] },
    },
    {
      about: 'two entries of one NUMA node',
      refused: { reservedMemory: [memory('1Gi'), memory('1Gi')] },
      at: 'reservedMemory.1.limits.memory',
      says: 'reserves memory on NUMA node 0 a second time',
      accepted: { reservedMemory: [memory('1Gi'), memory('1Gi', 1)] },
    },
    {
      about: 'Static without reserved memory',
      refused: { memoryManagerPolicy: 'Static' },
      at: 'memoryManagerPolicy',
      says: 'is "Static", but reservedMemory has no memory',
      fix: 'set reservedMemory so that it adds up to 100Mi',
      accepted: { memoryManagerPolicy: 'Static', reservedMemory: [memory('100Mi')] },
    },
    {
      about: 'Static with nothing that could be reserved',
      refused: { memoryManagerPolicy: 'Static', evictionHard: {} },
      at: 'memoryManagerPolicy',
      says: 'is "Static", but reservedMemory has no memory',
      fix: 'reserve memory in systemReserved or kubeReserved, and the same sum in reservedMemory',
      accepted: {
        memoryManagerPolicy: 'Static',
        evictionHard: {},
        mergeDefaultEvictionSettings: true,
        reservedMemory: [memory('100Mi')],
      },
    },
    {
      about: 'a sum that is not that of the reservations',
      refused: { ...reserved(memory('1Gi'), memory('601Mi', 1)) },
      at: 'reservedMemory',
      says: 'adds up to 1625Mi, but kubeReserved.memory, systemReserved.memory and evictionHard["memory.available"] to 1624Mi',
      accepted: { ...reserved(memory('1Gi'), memory('600Mi', 1)) },
    },
    {
      about: 'a sum beside an ignored threshold',
      refused: {
        ...reserved(memory('1624Mi')),
        evictionHard: { 'memory.available': '0%' },
      },
      at: 'reservedMemory',
      says: 'adds up to 1624Mi, but kubeReserved.memory, systemReserved.memory and evictionHard["memory.available"] to 1524Mi',
      accepted: { ...reserved(memory('1Mi')), evictionHard: { 'memory.available': '5%' } },
    },
    {
      about: 'huge pages with Static',
      refused: {
        ...reserved({ numaNode: 0, limits: { memory: '1624Mi', 'hugepages-1Gi': '1Gi' } }),
      },
      at: 'reservedMemory.0.limits.hugepages-1Gi',
      says: '"hugepages-1Gi" cannot be reserved with memoryManagerPolicy "Static"',
      accepted: { ...reserved(memory('1624Mi')) },
    },
    {
      about: 'a NUMA node below zero',
      refused: { ...reserved(memory('1Gi'), memory('600Mi', -1)) },
      at: 'reservedMemory.1.limits.memory',
      says: 'is on NUMA node -1',
      accepted: { reservedMemory: [memory('1Gi', -1)] },
    },
    {
      about: 'parts of a byte',
      refused: { ...reserved(memory('1702887424.0')) },
      at: 'reservedMemory.0.limits.memory',
      says: 'is "1702887424.0", which the kubelet cannot read as whole bytes',
      accepted: { ...reserved(memory('1702887424')) },
    },
  ]);

  it('reads numbers as quantities', () => {
    const reservedMemory = [{ numaNode: 0, limits: { memory: 104_857_600 } }];

    expect(kubeletProblems({ memoryManagerPolicy: 'Static', reservedMemory })).toEqual([]);
  });

  it('adds what reaches the kubelet by flag', () => {
    const document = { memoryManagerPolicy: 'Static', reservedMemory: [memory('2148Mi')] };

    expect(kubeletProblems(document, { systemReserved: { memory: '2Gi' } })).toEqual([]);
    expect(kubeletProblems(document).map(shownAs)).toEqual([
      {
        at: 'reservedMemory',
        says: 'adds up to 2148Mi, but kubeReserved.memory, systemReserved.memory and evictionHard["memory.available"] to 100Mi',
      },
    ]);
  });

  it('does not compare with what only the machine knows', () => {
    const document = { memoryManagerPolicy: 'Static', reservedMemory: [memory('3Gi')] };

    expect(kubeletProblems(document, { sizedByItself: true })).toEqual([]);
  });
});
