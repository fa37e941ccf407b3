/** How a path differs from a config, in MCO's words. Never the content. */

import { createHash } from 'node:crypto';
import type { DriftKind } from '../../core/drift';
import type { WantedPath } from '../paths/wanted-paths';

export type ExpectedPath =
  | {
      readonly kind: 'file';
      /** Absent: any mode. */
      readonly mode?: number;
      /** Hex; absent: any content. */
      readonly sha256?: string;
    }
  | { readonly kind: 'symlink'; readonly target: string; readonly unit: string }
  | { readonly kind: 'absent'; readonly onlyMask: boolean };

/** The content is read only when everything else is right. */
export type ObservedPath =
  | { readonly kind: 'absent' | 'directory' | 'other' }
  | { readonly kind: 'symlink'; readonly target: string }
  | { readonly kind: 'file'; readonly mode: number; sha256(): string | Promise<string> };

export interface Difference {
  readonly kind: DriftKind;
  readonly detail: string;
}

export function expectedAt(wanted: WantedPath): ExpectedPath {
  switch (wanted.kind) {
    case 'file': {
      const { mode, content, keepsMode } = wanted;
      return {
        kind: 'file',
        ...(keepsMode === true ? {} : { mode }),
        ...(content === undefined ? {} : { sha256: sha256(content) }),
      };
    }
    case 'symlink':
      return { kind: 'symlink', target: wanted.target, unit: wanted.name };
    case 'absent':
      return { kind: 'absent', onlyMask: wanted.onlyMask };
  }
}

/**
 * Undefined = no difference. Owners are not compared, as in MCO.
 *
 * @see MCO pkg/daemon/on_disk_validation.go (7ff337a4)
 */
export async function differenceAt(
  path: string,
  expected: ExpectedPath,
  now: ObservedPath,
): Promise<Difference | undefined> {
  switch (expected.kind) {
    case 'absent': {
      const isMask = now.kind === 'symlink' && now.target === '/dev/null';
      const isRight = expected.onlyMask ? !isMask : await isAsGoodAsAbsent(now);
      return isRight ? undefined : { kind: 'unexpected', detail: `${path} should not be there` };
    }
    case 'symlink':
      return now.kind === 'symlink' && now.target === expected.target
        ? undefined
        : { kind: 'missing', detail: `unit ${expected.unit} is not masked` };
    case 'file':
      return fileDifference(path, expected, now);
  }
}

const EMPTY = sha256(Buffer.alloc(0));

/** For an empty drop-in Ignition leaves an empty file. */
async function isAsGoodAsAbsent(now: ObservedPath): Promise<boolean> {
  return now.kind === 'absent' || (now.kind === 'file' && (await now.sha256()) === EMPTY);
}

async function fileDifference(
  path: string,
  expected: Extract<ExpectedPath, { kind: 'file' }>,
  now: ObservedPath,
): Promise<Difference | undefined> {
  if (now.kind === 'absent') return { kind: 'missing', detail: `${path} is missing` };
  if (now.kind !== 'file') return { kind: 'type', detail: `${path} is not a regular file` };
  if (expected.mode !== undefined && now.mode !== expected.mode) {
    const modes = `expected: ${octal(expected.mode)}; received: ${octal(now.mode)}`;
    return { kind: 'mode', detail: `mode mismatch for file: "${path}"; ${modes}` };
  }
  if (expected.sha256 === undefined || (await now.sha256()) === expected.sha256) return undefined;
  return { kind: 'content', detail: `content mismatch for file "${path}"` };
}

export function sha256(content: Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}

function octal(mode: number): string {
  return `0${mode.toString(8)}`;
}
