import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { RELEASE_HOSTS, type BinaryName, type ReleaseHost } from './catalogue';

/** The operating system and processor, in Go's words, as releases and caches are named. */
export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** Everything that decides where programs come from; read once from the environment. */
export interface BinarySettings {
  readonly cacheDirectory: string;
  /** Directories of PATH, in order. */
  readonly searchPath: readonly string[];
  /** Programs that the environment names, trusted as they are. */
  readonly overrides: Readonly<Partial<Record<BinaryName, string>>>;
  readonly releaseHosts: Readonly<Record<ReleaseHost, string>>;
  /** False: never download, go straight to the build. */
  readonly download: boolean;
  readonly platform: Platform;
  /** What child processes (Go, tar, version checks) get. */
  readonly environment: NodeJS.ProcessEnv;
  /** How long a server may take to answer at all before the download is given up. */
  readonly answerTimeoutMs: number;
  /** How long a download may stand still. */
  readonly stallTimeoutMs: number;
}

const OVERRIDE_VARIABLES: Readonly<Record<BinaryName, string>> = {
  temporal: 'SLIPWAY_TEMPORAL',
  etcd: 'SLIPWAY_ETCD',
  'kube-apiserver': 'SLIPWAY_KUBE_APISERVER',
  'kube-controller-manager': 'SLIPWAY_KUBE_CONTROLLER_MANAGER',
  'kube-scheduler': 'SLIPWAY_KUBE_SCHEDULER',
  kubelet: 'SLIPWAY_KUBELET',
  kubectl: 'SLIPWAY_KUBECTL',
  kwok: 'SLIPWAY_KWOK',
  ignition: 'SLIPWAY_IGNITION',
  'ignition-validate': 'SLIPWAY_IGNITION_VALIDATE',
  'ignition-validate-2': 'SLIPWAY_IGNITION_VALIDATE_2',
};

/** The environment variable that names a program outright, such as SLIPWAY_ETCD. */
export function overrideVariable(name: BinaryName): string {
  return OVERRIDE_VARIABLES[name];
}

/** Reads the settings from an environment; a variable that is set and empty counts as not set. */
export function readSettings(environment: NodeJS.ProcessEnv = process.env): BinarySettings {
  const value = (name: string): string | undefined => environment[name] || undefined;
  const overrides: Partial<Record<BinaryName, string>> = {};
  for (const name of Object.keys(OVERRIDE_VARIABLES) as BinaryName[]) {
    const path = value(OVERRIDE_VARIABLES[name]);
    if (path !== undefined) overrides[name] = resolve(path);
  }
  return {
    cacheDirectory: resolve(value('SLIPWAY_CACHE') ?? join(homedir(), '.cache', 'slipway')),
    searchPath: (value('PATH') ?? '').split(':').filter((directory) => directory !== ''),
    overrides,
    releaseHosts: {
      github: value('SLIPWAY_RELEASES_GITHUB') ?? RELEASE_HOSTS.github,
      githubApi: value('SLIPWAY_RELEASES_GITHUB_API') ?? RELEASE_HOSTS.githubApi,
      kubernetes: value('SLIPWAY_RELEASES_KUBERNETES') ?? RELEASE_HOSTS.kubernetes,
    },
    download: value('SLIPWAY_DOWNLOAD') !== 'never',
    platform: currentPlatform(),
    environment,
    answerTimeoutMs: 5_000,
    stallTimeoutMs: 20_000,
  };
}

function currentPlatform(): Platform {
  const architectures: Readonly<Record<string, string>> = { x64: 'amd64' };
  return { os: process.platform, arch: architectures[process.arch] ?? process.arch };
}
