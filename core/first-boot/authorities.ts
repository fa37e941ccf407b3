/** Authorities of a ControllerConfig that no machine could be served: the server answers each with an error. */

import { decodeBase64 } from '../encoding';

/** One, at its place in the ControllerConfig. */
export interface AuthorityProblem {
  readonly path: readonly string[];
  readonly problem: string;
  readonly fix: string;
}

/** Those that are no base 64; an empty one counts as absent, and so does what is no text. */
export function authorityProblems({
  spec,
}: {
  readonly spec: Readonly<Record<string, unknown>>;
}): readonly AuthorityProblem[] {
  return ['kubeAPIServerServingCAData', 'cloudProviderCAData'].flatMap((field) => {
    const text = spec[field];
    if (typeof text !== 'string' || !('error' in decodeBase64(text))) return [];
    const fix = 'write the certificates in base 64, as base64 -w0 prints them';
    return [{ path: ['spec', field], problem: 'not base 64', fix }];
  });
}
