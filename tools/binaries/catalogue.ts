/**
 * Programs of a development cluster, with pinned versions and sources. A test compares versions and
 * packages with tools/<folder>/go.mod.
 */

export const ChecksumFormat = {
  /** Perhaps followed by the file name. */
  DIGEST: 'digest',
  /** Lines of `<digest>  <file name>`. */
  LIST: 'list',
  /** GitHub's JSON of a release, with a digest for each asset. */
  GITHUB_ASSETS: 'github-assets',
} as const;
export type ChecksumFormat = (typeof ChecksumFormat)[keyof typeof ChecksumFormat];

/** `{os}`, `{arch}`, `{version}` and `{machine}` (GNU's name of the processor) are filled in. */
interface ReleaseFile {
  /** Settings can replace it. */
  readonly host: ReleaseHost;
  readonly path: string;
  readonly checksum: {
    readonly host: ReleaseHost;
    readonly path: string;
    readonly format: ChecksumFormat;
  };
  /** In a tar.gz; absent = the file is the program. */
  readonly member?: string;
  /** Go's names. */
  readonly systems: readonly string[];
}

export const RELEASE_HOSTS = {
  github: 'https://github.com',
  githubApi: 'https://api.github.com',
  kubernetes: 'https://dl.k8s.io',
  helm: 'https://get.helm.sh',
} as const;
export type ReleaseHost = keyof typeof RELEASE_HOSTS;

export interface BinarySource {
  /** Under tools/ with its go.mod, and in the cache. */
  readonly folder: string;
  /** Without a leading v. */
  readonly version: string;
  readonly goPackage: string;
  /** So that a build reports its version as the release does. */
  readonly goVariables: Readonly<Record<string, string>>;
  readonly goTags?: readonly string[];
  readonly versionArguments?: readonly string[];
  /** Why it needs a C compiler. */
  readonly needsC?: string;
  /** Of a cold build on two idle cores. */
  readonly buildMinutes: number;
  /** Absent = its publisher releases no binary, or under another version than that of the module. */
  readonly release?: ReleaseFile;
}

const KUBERNETES_VERSION = '1.36.3';

function kubernetes(program: string, buildMinutes: number): BinarySource {
  const path = `/release/v{version}/bin/{os}/{arch}/${program}`;
  return {
    folder: 'kubernetes',
    version: KUBERNETES_VERSION,
    goPackage: `k8s.io/kubernetes/cmd/${program}`,
    goVariables: {
      'k8s.io/component-base/version.gitVersion': `v${KUBERNETES_VERSION}`,
      'k8s.io/component-base/version.gitMajor': '1',
      'k8s.io/component-base/version.gitMinor': '36',
    },
    buildMinutes,
    release: {
      host: 'kubernetes',
      path,
      checksum: { host: 'kubernetes', path: `${path}.sha256`, format: ChecksumFormat.DIGEST },
      systems: ['linux'],
    },
  };
}

const IGNITION = {
  folder: 'ignition',
  version: '2.26.0',
  goVariables: { 'github.com/coreos/ignition/v2/internal/version.Raw': 'v2.26.0' },
} as const;

/** The version in Temporal's development server, so that most of the build is shared. */
const TEMPORAL_SERVER = { folder: 'temporal-server', version: '1.31.2', goVariables: {} } as const;

/** Its releases count 3.x where its module counts 0.3x. Without the clients of all clouds the build is small. */
const PROMETHEUS = {
  folder: 'prometheus',
  version: '0.315.1',
  goVariables: {},
  goTags: ['remove_all_sd'],
} as const;

const BINARIES = {
  temporal: {
    folder: 'temporal-cli',
    version: '1.8.2',
    goPackage: 'github.com/temporalio/cli/cmd/temporal',
    goVariables: { 'github.com/temporalio/cli/internal/temporalcli.Version': '1.8.2' },
    buildMinutes: 4,
    release: {
      host: 'github',
      path: '/temporalio/cli/releases/download/v{version}/temporal_cli_{version}_{os}_{arch}.tar.gz',
      checksum: {
        host: 'github',
        path: '/temporalio/cli/releases/download/v{version}/checksums.txt',
        format: ChecksumFormat.LIST,
      },
      member: 'temporal',
      systems: ['linux', 'darwin'],
    },
  },
  // Temporal for production, on a database of its own.
  'temporal-server': {
    ...TEMPORAL_SERVER,
    goPackage: 'go.temporal.io/server/cmd/server',
    buildMinutes: 1,
  },
  'temporal-sql-tool': {
    ...TEMPORAL_SERVER,
    goPackage: 'go.temporal.io/server/cmd/tools/sql',
    buildMinutes: 0.5,
  },
  etcd: {
    folder: 'etcd',
    version: '3.6.16',
    goPackage: 'go.etcd.io/etcd/server/v3',
    goVariables: {},
    buildMinutes: 0.5,
    release: {
      host: 'github',
      path: '/etcd-io/etcd/releases/download/v{version}/etcd-v{version}-{os}-{arch}.tar.gz',
      checksum: {
        host: 'github',
        path: '/etcd-io/etcd/releases/download/v{version}/SHA256SUMS',
        format: ChecksumFormat.LIST,
      },
      member: 'etcd-v{version}-{os}-{arch}/etcd',
      systems: ['linux'],
    },
  },
  'kube-apiserver': kubernetes('kube-apiserver', 3),
  'kube-controller-manager': kubernetes('kube-controller-manager', 0.5),
  'kube-scheduler': kubernetes('kube-scheduler', 0.5),
  kubelet: kubernetes('kubelet', 1),
  kubectl: { ...kubernetes('kubectl', 0.5), versionArguments: ['version', '--client'] },
  kwok: {
    folder: 'kwok',
    version: '0.8.0',
    goPackage: 'sigs.k8s.io/kwok/cmd/kwok',
    goVariables: {},
    buildMinutes: 1,
    release: {
      host: 'github',
      path: '/kubernetes-sigs/kwok/releases/download/v{version}/kwok-{os}-{arch}',
      // GitHub's description has digests.
      checksum: {
        host: 'githubApi',
        path: '/repos/kubernetes-sigs/kwok/releases/tags/v{version}',
        format: ChecksumFormat.GITHUB_ASSETS,
      },
      systems: ['linux', 'darwin'],
    },
  },
  // The first-boot engine, which its publisher does not release.
  ignition: {
    ...IGNITION,
    goPackage: 'github.com/coreos/ignition/v2/internal',
    goVariables: {
      ...IGNITION.goVariables,
      // Otherwise it fails where there is no SELinux policy.
      'github.com/coreos/ignition/v2/internal/distro.selinuxRelabel': 'false',
    },
    needsC: 'a C compiler and the headers of libblkid (Debian: gcc, libblkid-dev)',
    buildMinutes: 2,
  },
  'ignition-validate': {
    ...IGNITION,
    goPackage: 'github.com/coreos/ignition/v2/validate',
    buildMinutes: 0.5,
    release: {
      host: 'github',
      path: '/coreos/ignition/releases/download/v{version}/ignition-validate-{machine}-{os}',
      // GitHub's description has digests.
      checksum: {
        host: 'githubApi',
        path: '/repos/coreos/ignition/releases/tags/v{version}',
        format: ChecksumFormat.GITHUB_ASSETS,
      },
      systems: ['linux'],
    },
  },
  // The last version that knows Ignition 2.
  'ignition-validate-2': {
    folder: 'ignition-2',
    version: '0.35.0',
    goPackage: 'github.com/coreos/ignition/validate',
    goVariables: { 'github.com/coreos/ignition/internal/version.Raw': 'v0.35.0' },
    buildMinutes: 0.5,
  },
  // Transpiles the Butane of docs/joining.md in tests.
  butane: {
    folder: 'butane',
    version: '0.25.1',
    goPackage: 'github.com/coreos/butane/internal',
    goVariables: { 'github.com/coreos/butane/internal/version.Raw': 'v0.25.1' },
    buildMinutes: 0.5,
    release: {
      host: 'github',
      path: '/coreos/butane/releases/download/v{version}/butane-{machine}-unknown-linux-gnu',
      // GitHub's description has digests.
      checksum: {
        host: 'githubApi',
        path: '/repos/coreos/butane/releases/tags/v{version}',
        format: ChecksumFormat.GITHUB_ASSETS,
      },
      systems: ['linux'],
    },
  },
  // Installs the chart in tests.
  helm: {
    folder: 'helm',
    version: '3.22.0',
    goPackage: 'helm.sh/helm/v3/cmd/helm',
    goVariables: { 'helm.sh/helm/v3/internal/version.version': 'v3.22.0' },
    versionArguments: ['version', '--short'],
    buildMinutes: 1,
    release: {
      host: 'helm',
      path: '/helm-v{version}-{os}-{arch}.tar.gz',
      checksum: {
        host: 'helm',
        path: '/helm-v{version}-{os}-{arch}.tar.gz.sha256sum',
        format: ChecksumFormat.LIST,
      },
      member: '{os}-{arch}/helm',
      systems: ['linux', 'darwin'],
    },
  },
  // Pulls images on the machines of tests, as on a node that kubeadm has made.
  crictl: {
    folder: 'cri-tools',
    version: '1.37.0',
    goPackage: 'sigs.k8s.io/cri-tools/cmd/crictl',
    goVariables: { 'sigs.k8s.io/cri-tools/pkg/version.Version': 'v1.37.0' },
    buildMinutes: 1,
    release: {
      host: 'github',
      path: '/kubernetes-sigs/cri-tools/releases/download/v{version}/crictl-v{version}-{os}-{arch}.tar.gz',
      checksum: {
        host: 'github',
        path: '/kubernetes-sigs/cri-tools/releases/download/v{version}/crictl-v{version}-{os}-{arch}.tar.gz.sha256',
        format: ChecksumFormat.DIGEST,
      },
      member: 'crictl',
      systems: ['linux'],
    },
  },
  // Test alerts, and the queries of alerts and dashboard.
  prometheus: {
    ...PROMETHEUS,
    goPackage: 'github.com/prometheus/prometheus/cmd/prometheus',
    buildMinutes: 4,
  },
  promtool: {
    ...PROMETHEUS,
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    buildMinutes: 1,
  },
} as const satisfies Record<string, BinarySource>;

export type BinaryName = keyof typeof BINARIES;

/** Slowest build first. */
export const BINARY_NAMES = Object.keys(BINARIES) as readonly BinaryName[];

/** Only the tests that need them run these. */
const TEST_BINARY_NAMES: readonly BinaryName[] = [
  'temporal-server',
  'temporal-sql-tool',
  'kubelet',
  'ignition',
  'ignition-validate',
  'ignition-validate-2',
  'butane',
  'helm',
  'crictl',
  'prometheus',
  'promtool',
];

/** With kubectl for people. */
export const CLUSTER_BINARY_NAMES = BINARY_NAMES.filter(
  (name) => !TEST_BINARY_NAMES.includes(name),
);

export function sourceOf(name: BinaryName): BinarySource {
  return BINARIES[name];
}
