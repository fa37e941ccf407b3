/** Invalid authorities of a ControllerConfig, which the server answers with an error. */

import { decodeBase64 } from '../encoding';
import type { FieldProblem } from '../field-problem';

/**
 * Authorities that are not base 64; an empty one counts as absent, and so does a value that is not
 * text.
 */
export function authorityProblems({
  spec,
}: {
  readonly spec: Readonly<Record<string, unknown>>;
}): readonly FieldProblem[] {
  return ['kubeAPIServerServingCAData', 'cloudProviderCAData'].flatMap((field) => {
    const text = spec[field];
    if (typeof text !== 'string' || !('error' in decodeBase64(text))) return [];
    const fix = 'write the certificates in base 64, as base64 -w0 prints them';
    return [{ path: ['spec', field], problem: 'not base 64', fix }];
  });
}
