import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { RELEASE_HOSTS, type BinaryName, type ReleaseHost } from './catalogue';

export interface Platform {
  readonly os: string;
  readonly arch: string;
}

/** Read once from the environment. */
export interface BinarySettings {
  readonly cacheDirectory: string;
  readonly searchPath: readonly string[];
  /** Named by the environment; versions are not checked. */
  readonly overrides: Readonly<Partial<Record<BinaryName, string>>>;
  readonly releaseHosts: Readonly<Record<ReleaseHost, string>>;
  /** False = build at once. */
  readonly download: boolean;
  readonly platform: Platform;
  readonly environment: NodeJS.ProcessEnv;
  /** Then a download without an answer fails. */
  readonly answerTimeoutMs: number;
  /** Then a download without data fails. */
  readonly stallTimeoutMs: number;
}

const OVERRIDE_VARIABLES: Readonly<Record<BinaryName, string>> = {
  temporal: 'SLIPWAY_TEMPORAL',
  'temporal-server': 'SLIPWAY_TEMPORAL_SERVER',
  'temporal-sql-tool': 'SLIPWAY_TEMPORAL_SQL_TOOL',
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
  butane: 'SLIPWAY_BUTANE',
  helm: 'SLIPWAY_HELM',
  crictl: 'SLIPWAY_CRICTL',
  prometheus: 'SLIPWAY_PROMETHEUS',
  promtool: 'SLIPWAY_PROMTOOL',
};

/** Such as SLIPWAY_ETCD. */
export function overrideVariable(name: BinaryName): string {
  return OVERRIDE_VARIABLES[name];
}

/** An empty variable counts as unset. */
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
      helm: value('SLIPWAY_RELEASES_HELM') ?? RELEASE_HOSTS.helm,
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
