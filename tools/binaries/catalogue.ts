/**
 * The programs of a development cluster: pinned versions, and where each comes from. Versions and
 * packages here agree with tools/<folder>/go.mod; a test compares them.
 */

/** How a publisher writes the checksum of a release file down. */
export const ChecksumFormat = {
  /** A file with one digest, perhaps followed by the file name. */
  DIGEST: 'digest',
  /** Lines of `<digest>  <file name>`. */
  LIST: 'list',
  /** GitHub's description of a release: JSON with a digest for each asset. */
  GITHUB_ASSETS: 'github-assets',
} as const;
export type ChecksumFormat = (typeof ChecksumFormat)[keyof typeof ChecksumFormat];

/**
 * One file of an official release. `{os}`, `{arch}`, `{version}` and `{machine}` (the processor in GNU's
 * words) are filled in.
 */
export interface ReleaseFile {
  /** Which base URL it is under; each can be pointed elsewhere. */
  readonly host: ReleaseHost;
  readonly path: string;
  readonly checksum: {
    readonly host: ReleaseHost;
    readonly path: string;
    readonly format: ChecksumFormat;
  };
  /** For a tar.gz: path of the program in it. Absent: the file is the program. */
  readonly member?: string;
  /** Operating systems that the publisher releases for, in Go's words. */
  readonly systems: readonly string[];
}

/** Base URLs of official releases. */
export const RELEASE_HOSTS = {
  github: 'https://github.com',
  githubApi: 'https://api.github.com',
  kubernetes: 'https://dl.k8s.io',
} as const;
export type ReleaseHost = keyof typeof RELEASE_HOSTS;

/** One program: its pinned version and how to get it. */
export interface BinarySource {
  /** Folder under tools/ with its go.mod, and under the cache. */
  readonly folder: string;
  /** Without a leading v. */
  readonly version: string;
  readonly goPackage: string;
  /** Linker variables: a build answers `--version` as the release does, and is what its users need. */
  readonly goVariables: Readonly<Record<string, string>>;
  /** What it prints its version for; absent = `--version`. */
  readonly versionArguments?: readonly string[];
  /** What a C compiler needs for it, in words; absent = it is built without one. */
  readonly needsC?: string;
  /** Of a cold build on two idle cores; shown so that nobody thinks it hangs. */
  readonly buildMinutes: number;
  /** Absent = its publisher releases no program. */
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

/** Every program by name. */
export const BINARIES = {
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
      // KWOK publishes no checksum file; GitHub's description of the release has the digests.
      checksum: {
        host: 'githubApi',
        path: '/repos/kubernetes-sigs/kwok/releases/tags/v{version}',
        format: ChecksumFormat.GITHUB_ASSETS,
      },
      systems: ['linux', 'darwin'],
    },
  },
  // The first-boot engine; distributions package it, its publisher releases only the validator.
  ignition: {
    ...IGNITION,
    goPackage: 'github.com/coreos/ignition/v2/internal',
    goVariables: {
      ...IGNITION.goVariables,
      // As a distribution without SELinux builds it; else it stops where there is no policy.
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
      // Signed and without a checksum file; GitHub's description of the release has the digests.
      checksum: {
        host: 'githubApi',
        path: '/repos/coreos/ignition/releases/tags/v{version}',
        format: ChecksumFormat.GITHUB_ASSETS,
      },
      systems: ['linux'],
    },
  },
  // The last one that knows Ignition 2: what machines of old images are served.
  'ignition-validate-2': {
    folder: 'ignition-2',
    version: '0.35.0',
    goPackage: 'github.com/coreos/ignition/validate',
    goVariables: { 'github.com/coreos/ignition/internal/version.Raw': 'v0.35.0' },
    buildMinutes: 0.5,
  },
} as const satisfies Record<string, BinarySource>;

/** The name of a program that `ensureBinary` finds or makes. */
export type BinaryName = keyof typeof BINARIES;

/** All names, slowest build first, because the first demo waits for that one longest. */
export const BINARY_NAMES = Object.keys(BINARIES) as readonly BinaryName[];

/** What only tests with machines run. */
const MACHINE_BINARY_NAMES: readonly BinaryName[] = [
  'kubelet',
  'ignition',
  'ignition-validate',
  'ignition-validate-2',
];

/** What a development cluster is made of, and kubectl, with which people look at it. */
export const CLUSTER_BINARY_NAMES = BINARY_NAMES.filter(
  (name) => !MACHINE_BINARY_NAMES.includes(name),
);

/** The source of a program. */
export function sourceOf(name: BinaryName): BinarySource {
  return BINARIES[name];
}
