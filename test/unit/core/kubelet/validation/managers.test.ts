import { kubeletProblems } from '../../../../../core/kubelet/validation';
import { judged } from './judged';

const STATIC = { cpuManagerPolicy: 'static', kubeReserved: { cpu: '500m' } };
const ALPHA = { featureGates: { CPUManagerPolicyAlphaOptions: true } };

describe('the CPU manager', () => {
  judged([
    {
      about: 'static without reserved CPU',
      refused: { cpuManagerPolicy: 'static' },
      at: 'cpuManagerPolicy',
      says: 'is "static", but no CPU is reserved for the system',
      fix: 'reserve some: systemReserved.cpu, kubeReserved.cpu or reservedSystemCPUs',
      accepted: { cpuManagerPolicy: 'static', systemReserved: { cpu: '1n' } },
    },
    {
      about: 'static with a reservation of zero',
      refused: {
        cpuManagerPolicy: 'static',
        systemReserved: { cpu: '0' },
        kubeReserved: { cpu: '0' },
      },
      at: 'cpuManagerPolicy',
      says: 'is "static", but no CPU is reserved for the system',
      accepted: { cpuManagerPolicy: 'static', reservedSystemCPUs: '0' },
    },
    {
      about: 'static whose reservation the flag replaces',
      refused: { cpuManagerPolicy: 'static', systemReserved: { cpu: '1' } },
      at: 'cpuManagerPolicy',
      says: 'is "static", but no CPU is reserved for the system',
      beside: { systemReserved: { memory: '1Gi' } },
      accepted: STATIC,
    },
    {
      about: 'options without a policy',
      refused: { cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
      at: 'cpuManagerPolicyOptions.full-pcpus-only',
      says: 'needs cpuManagerPolicy "static"',
      accepted: { ...STATIC, cpuManagerPolicyOptions: { 'full-pcpus-only': 'true' } },
    },
    {
      about: 'an unknown option',
      refused: { ...STATIC, cpuManagerPolicyOptions: { 'full-cpus-only': 'true' } },
      at: 'cpuManagerPolicyOptions.full-cpus-only',
      says: '"full-cpus-only" is no option of cpuManagerPolicy',
      accepted: { ...STATIC, cpuManagerPolicyOptions: {} },
    },
    {
      about: 'an option that is neither true nor false',
      refused: { ...STATIC, cpuManagerPolicyOptions: { 'strict-cpu-reservation': 'yes' } },
      at: 'cpuManagerPolicyOptions.strict-cpu-reservation',
      says: 'is "yes", which is neither "true" nor "false"',
      accepted: { ...STATIC, cpuManagerPolicyOptions: { 'strict-cpu-reservation': 'T' } },
    },
    {
      about: 'an alpha option without its gate',
      refused: { ...STATIC, cpuManagerPolicyOptions: { 'align-by-socket': 'false' } },
      at: 'cpuManagerPolicyOptions.align-by-socket',
      says: 'needs the feature gate CPUManagerPolicyAlphaOptions, which is off',
      accepted: { ...STATIC, ...ALPHA, cpuManagerPolicyOptions: { 'align-by-socket': 'true' } },
    },
    {
      about: 'a beta option without its gate',
      refused: {
        ...STATIC,
        featureGates: { CPUManagerPolicyBetaOptions: false },
        cpuManagerPolicyOptions: { 'distribute-cpus-across-numa': 'true' },
      },
      at: 'cpuManagerPolicyOptions.distribute-cpus-across-numa',
      says: 'needs the feature gate CPUManagerPolicyBetaOptions, which is off',
      accepted: { ...STATIC, cpuManagerPolicyOptions: { 'distribute-cpus-across-numa': 'true' } },
    },
    ...(
      [
        ['full-pcpus-only', 'distribute-cpus-across-cores'],
        ['distribute-cpus-across-numa', 'distribute-cpus-across-cores'],
        ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'],
        ['prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'],
      ] as const
    ).map(([one, other]) => ({
      about: `${one} beside ${other}`,
      refused: {
        ...STATIC,
        ...ALPHA,
        cpuManagerPolicyOptions: { [one]: 'true', [other]: 'true' },
      },
      at: `cpuManagerPolicyOptions.${one}`,
      says: `is true, which excludes "${other}"`,
      accepted: {
        ...STATIC,
        ...ALPHA,
        cpuManagerPolicyOptions: { [one]: 'true', [other]: 'false' },
      },
    })),
    {
      about: 'alignment by socket on a single NUMA node',
      refused: {
        ...STATIC,
        ...ALPHA,
        topologyManagerPolicy: 'single-numa-node',
        cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
      },
      at: 'cpuManagerPolicyOptions.align-by-socket',
      says: 'is true, which excludes topologyManagerPolicy "single-numa-node"',
      accepted: {
        ...STATIC,
        ...ALPHA,
        topologyManagerPolicy: 'restricted',
        cpuManagerPolicyOptions: { 'align-by-socket': 'true' },
      },
    },
  ]);

  it.each([
    ['full-pcpus-only', 'true'],
    ['align-by-socket', 'false'],
  ])('accepts %s %s on a single NUMA node', (name, value) => {
    const document = { ...STATIC, ...ALPHA, topologyManagerPolicy: 'single-numa-node' };

    expect(kubeletProblems({ ...document, cpuManagerPolicyOptions: { [name]: value } })).toEqual(
      [],
    );
  });

  it('leaves machines alone that size their reservations', () => {
    expect(kubeletProblems({ cpuManagerPolicy: 'static' }, { sizedByItself: true })).toEqual([]);
  });
});

describe('the topology manager', () => {
  const options = (topologyManagerPolicyOptions: Readonly<Record<string, string>>): object => ({
    topologyManagerPolicy: 'restricted',
    topologyManagerPolicyOptions,
  });
  judged([
    {
      about: 'an unknown option',
      refused: { ...options({ closest: 'true' }) },
      at: 'topologyManagerPolicyOptions.closest',
      says: '"closest" is no option of topologyManagerPolicy',
      accepted: { topologyManagerPolicyOptions: { closest: 'true' } },
    },
    {
      about: 'an option that is neither true nor false',
      refused: { ...options({ 'prefer-closest-numa-nodes': 'yes' }) },
      at: 'topologyManagerPolicyOptions.prefer-closest-numa-nodes',
      says: 'is "yes", which is neither "true" nor "false"',
      accepted: { ...options({ 'prefer-closest-numa-nodes': 'true' }) },
    },
    {
      about: 'too few NUMA nodes',
      refused: { ...options({ 'max-allowable-numa-nodes': '7' }) },
      at: 'topologyManagerPolicyOptions.max-allowable-numa-nodes',
      says: 'is "7", which is no whole number of 8 or more',
      accepted: { ...options({ 'max-allowable-numa-nodes': '8' }) },
    },
  ]);
});
