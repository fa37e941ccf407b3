/** What hosts get beside their config: certificates and secrets that change without a rollout. */

export interface HostBundle {
  /** The pool of the host. */
  readonly pool: string;
  /** By path. */
  readonly files: readonly BundleFile[];
  /** Their sources are wrong, so hosts leave what they have there. */
  readonly keeps: readonly string[];
  /** PEM: the authorities by which kubelets recognise the API server; absent = left alone. */
  readonly apiServerAuthority?: string;
  /** Hex: SHA-256 of all of the above, but the pool. */
  readonly digest: string;
}

export interface BundleFile {
  readonly path: string;
  /** The permission bits. */
  readonly mode: typeof PUBLIC_MODE | typeof SECRET_MODE;
  /** The bytes, in base 64. */
  readonly content: string;
}

export const PUBLIC_MODE = 0o644;
/** Readable by root alone. */
export const SECRET_MODE = 0o600;

/** A source that no host gets; never with contents. */
export interface BundleProblem {
  /** `controllerconfig machine-config-controller`, `secret openshift-config/pull-secret` */
  readonly object: string;
  /** `spec.imageRegistryBundleData[0].data` */
  readonly path: string;
  readonly problem: string;
  readonly fix: string;
}

export function bundleProblemText({ object, path, problem, fix }: BundleProblem): string {
  return `${object}: ${path} ${problem}; ${fix}`;
}
