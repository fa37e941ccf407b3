/** Values of fields of a KubeletConfiguration, most of them at an edge. */

export const NAMES = ['', 'a', 'a b', '-', '*', 'A', '0', 'é'];

const BOOLEANS = ['true', 'false', '1', '0', 't', 'F', 'True', 'TRUE', 'yes', '', 'tRUE', ' true'];

export const SIGNALS = [
  ...['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available'],
  ...['imagefs.inodesFree', 'containerfs.available', 'containerfs.inodesFree', 'pid.available'],
  ...['allocatableMemory.available', 'cpu.available', 'Memory.available', ''],
];

export const around = (least: number, most: number): readonly number[] => [
  ...[least - 1, least, least + 1, most - 1, most, most + 1],
  ...[0, 1, -1, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 1.5],
];

export const PORTS = around(1, 65_535);
export const COUNTS = around(0, 2 ** 31 - 1);

export const CPU_SETS = [
  ...['', '0', '0-3', '0-3,8', '3-1', '1-1', ',', '0,', '-1', '1-', 'a', ' 0', '0 ', '0-1-2', '+1'],
  ...['0--1', '255', '1,1', '0-2,1-3', '0;1', '9223372036854775808', '-0', '00', '1-+3'],
];

export const RESOURCE_MAPS = [
  ...[{}, { cpu: '500m' }, { cpu: '0' }, { cpu: '-1' }, { cpu: 'one' }, { memory: '1Gi' }],
  ...[{ cpu: '1', memory: '1Gi' }, { memory: '924Mi' }, { memory: '100Mi' }, { pid: '1000' }],
  ...[{ 'ephemeral-storage': '1Gi' }, { 'hugepages-1Gi': '1Gi' }, { storage: '1Gi' }, { gpu: '1' }],
  ...[{ cpu: '', memory: '1Gi' }, { memory: '0' }, { cpu: '0.0000000001' }, { memory: '1023.5' }],
];

const POLICY_OPTIONS = [
  ...['full-pcpus-only', 'distribute-cpus-across-numa', 'align-by-socket', 'unknown', ''],
  ...['distribute-cpus-across-cores', 'strict-cpu-reservation', 'prefer-align-cpus-by-uncorecache'],
];
export const OPTION_MAPS = [
  {},
  ...POLICY_OPTIONS.flatMap((name) => BOOLEANS.map((value) => ({ [name]: value }))),
  ...POLICY_OPTIONS.flatMap((one) =>
    POLICY_OPTIONS.map((other) => ({ [one]: 'true', [other]: 'true' })),
  ),
];

export const TOPOLOGY_OPTIONS = [
  ...[{}, { unknown: '1' }],
  ...BOOLEANS.map((value) => ({ 'prefer-closest-numa-nodes': value })),
  ...['7', '8', '9', '+8', '-8', '8.0', '', 'x', '9223372036854775808', '1_0'].map((value) => ({
    'max-allowable-numa-nodes': value,
  })),
];

export const maps = (
  keys: readonly string[],
  values: readonly string[],
): readonly Readonly<Record<string, string>>[] => [
  {},
  ...keys.map((key) => ({ [key]: values[0] ?? '' })),
  ...values.map((value) => ({ [keys[0] ?? '']: value })),
];

const LIMITS = [
  ...['1Gi', '924Mi', '1024Mi', '0', '-1Gi', '1.5', '1500m', '1073741824', '100Ti', 'x', ' 1Gi '],
  ...['1124Mi', '1073741824.0', '1e9'],
];
export const RESERVED_MEMORY = [
  ...[[], [{ numaNode: 0, limits: {} }]],
  ...LIMITS.map((memory) => [{ numaNode: 0, limits: { memory } }]),
  [{ numaNode: 0, limits: { memory: 104_857_600 } }],
  ...[0, 1, -1, 7].map((numaNode) => [
    { numaNode: 0, limits: { memory: '1Gi' } },
    { numaNode, limits: { memory: '100Mi' } },
  ]),
  ...['hugepages-1Gi', 'hugepages-', 'cpu', 'hugepages'].map((name) => [
    { numaNode: 0, limits: { memory: '1124Mi', [name]: '1Gi' } },
  ]),
];

const TAINT_KEYS = [
  ...['a', '', 'a/b', 'a/', '/b', 'A.b-c_d', '-a', 'a-', 'example.com/a', 'Example.com/a', 'a/b/c'],
  ...['a'.repeat(63), 'a'.repeat(64), `${'a'.repeat(253)}/b`, `${'a'.repeat(254)}/b`, 'a b', 'é'],
  ...['a..b/c', '.a/b', 'a_b/c', 'a b/c'],
];
export const TAINTS = [
  [],
  ...TAINT_KEYS.map((key) => [{ key, effect: 'NoSchedule' }]),
  ...[...NAMES, 'a'.repeat(63), 'a'.repeat(64), 'a/b'].map((value) => [
    { key: 'a', value, effect: 'NoExecute' },
  ]),
  ...['NoSchedule', 'PreferNoSchedule', 'NoExecute', 'Never', '', 'noschedule'].map((effect) => [
    { key: 'a', effect },
  ]),
  [{ key: 'a', effect: 'NoSchedule', timeAdded: '2026-01-02T03:04:05Z' }],
  [{ key: 'a', effect: 'NoSchedule', timeAdded: null }],
];

export const SYSCTLS = [
  ...['net.core.somaxconn', 'net.*', 'net*', '*', 'kernel.msg*', 'kernel.shm*', 'kernel.*', ''],
  ...['kernel.sem', 'kernel.sem*', 'kernel.pid_max', 'fs.mqueue.*', 'fs.mqueue', 'fs.file-max'],
  ...['net/core/somaxconn', 'net/ipv4/conf/eth0.1/rp_filter', 'net.ipv4.*.x', 'NET.core', 'net.'],
  ...[
    'net..core',
    'net.ipv4.conf.eth0/1.rp_filter',
    'kernel.shm',
    'kernel.shm_rmid_forced',
    'vm.x',
  ],
  ...[
    `net.${'a'.repeat(249)}`,
    `net.${'a'.repeat(250)}`,
    'net.a-',
    'net._a',
    'kernel/msg*',
    'net.a*b',
  ],
];

export const ENDPOINTS = [
  ...['', 'unix:///run/crio/crio.sock', '/run/crio/crio.sock', 'tcp://localhost:1', 'npipe:////x'],
  ...['run/crio.sock', 'unix:/run/x', 'http://x', ':', 'unix://%zz', '://x', 'a b', 'x:1', '%'],
];
export const COLLECTORS = [
  ...['', 'localhost:4317', 'dns://1.2.3.4/x:1', 'unix:///run/x', 'unix-abstract:///x', 'http://x'],
  ...[
    'unix:/run/x',
    '%zz',
    ':4317',
    '[::1]:4317',
    '//x',
    'DNS://x',
    'localhost',
    'a b',
    'https:x//',
  ],
];

export const ADDRESSES = [
  ...['', '0.0.0.0', '::', '127.0.0.1', '010.0.0.1', '1.2.3', '1.2.3.256', 'localhost', '::1%lo'],
  ...['fe80::1', '1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7', '::ffff:1.2.3.4', '1::2::3', '[::]', ' ::'],
  ...[
    '1:2:3:4:5:6:7::',
    ':1',
    '::1.2.3',
    '12345::',
    '1.2.3.4.5',
    '1:2:3:4:5:6:1.2.3.4',
    '-1.0.0.0',
  ],
];

export const IMAGES = [
  ...[
    'quay.io/a/b',
    'a',
    'A',
    'quay.io/*',
    '*',
    '/*',
    'a/*/*',
    'quay.io/a/*',
    '',
    ' a',
    'a ',
    'a:1',
  ],
  ...['quay.io:5000/a/b', 'quay.io:5000', `a@sha256:${'a'.repeat(64)}`, 'a/b*', 'a//b', '-a', 'a-'],
  ...['a__b', 'a___b', 'a.-b', 'a--b', '[::1]:1/a', 'Quay.io/a', 'quay.io/A', ' /*', 'a b/*', '/a'],
  ...['a'.repeat(255), 'a'.repeat(256), `quay.io/${'a'.repeat(255)}`, `quay.io/${'a'.repeat(256)}`],
];

export const GATES = [
  ...[{}, { NodeSwap: false }, { NodeSwap: true }, { KubeletCrashLoopBackOffMax: false }],
  ...[{ GracefulNodeShutdown: false }, { GracefulNodeShutdownBasedOnPodPriority: false }],
  ...[{ GracefulNodeShutdown: false, GracefulNodeShutdownBasedOnPodPriority: false }],
  ...[{ CustomCPUCFSQuotaPeriod: false }, { KubeletEnsureSecretPulledImages: false }],
  ...[{ MemoryQoS: true }, { LoggingAlphaOptions: true }, { LoggingBetaOptions: false }],
  ...[{ CPUManagerPolicyAlphaOptions: true }, { CPUManagerPolicyBetaOptions: false }],
  ...[{ AllAlpha: true }, { AllBeta: false }, { AllAlpha: true, AllBeta: true }, { Unknown: true }],
  ...[{ RotateKubeletServerCertificate: false }, { UserNamespacesSupport: false }],
  ...[
    { AllAlpha: true, CPUManagerPolicyAlphaOptions: false },
    { AllAlpha: false },
    { AllAlpha: true, AllBeta: false },
  ],
];

export const ENFORCED = [
  ...[[], ['pods'], ['none'], ['pods', 'none'], ['pods', 'pods'], ['unknown'], ['']],
  ...[['system-reserved'], ['system-reserved-compressible'], ['kube-reserved'], ['none', 'none']],
  ...[
    ['pods', 'kube-reserved-compressible'],
    ['system-reserved', 'system-reserved-compressible'],
  ],
  ...[
    ['kube-reserved-compressible', 'kube-reserved'],
    ['pods', 'system-reserved', 'kube-reserved'],
  ],
];

export const MODULES = [
  ...[[], [{ filePattern: 'a', verbosity: 1 }], [{ filePattern: '', verbosity: 1 }]],
  ...[[{ filePattern: 'a=b', verbosity: 1 }], [{ filePattern: 'a,b', verbosity: 1 }]],
  ...[[{ filePattern: 'a', verbosity: 2 ** 31 - 1 }], [{ filePattern: 'a', verbosity: 2 ** 31 }]],
  [{ filePattern: 'a', verbosity: -1 }],
];

export const FOLDERS = [
  ...[
    '',
    '/var/log/pods',
    '/var/log/pods/',
    'var/log',
    '/var/../log',
    '/',
    '//',
    '/./a',
    '/é',
    '.',
  ],
  ...['/a b', '/..', '/a/..', '/a/../b', '/...', '\u0001', '/\u007f', '/\u0080', '~'],
];

export const BYTES = [
  ...['', '0', '1', '-1', '10Mi', '1.5Mi', '1k', '100m', '1e3', '8Ei', '100Ti', 'x'],
];

const KEY_EXCHANGES = [
  ...['TLS_', 'TLS_RSA_WITH_', 'TLS_ECDHE_RSA_WITH_', 'TLS_ECDHE_ECDSA_WITH_', 'TLS_DHE_RSA_WITH_'],
];
const ENCRYPTIONS = [
  ...['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305_SHA256', 'RC4_128_SHA'],
  ...['AES_128_CBC_SHA', 'AES_256_CBC_SHA', 'AES_128_CBC_SHA256', 'AES_256_CBC_SHA384'],
  ...['3DES_EDE_CBC_SHA', 'CHACHA20_POLY1305', 'AES_256_CBC_SHA256', 'RC4_128_MD5', ''],
];

export const CIPHERS = [
  ...KEY_EXCHANGES.flatMap((exchange) => ENCRYPTIONS.map((name) => `${exchange}${name}`)),
  ...['ECDHE-RSA-AES128-GCM-SHA256', '', 'tls_aes_128_gcm_sha256'],
];
