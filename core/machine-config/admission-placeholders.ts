/** Examples (`deploy/examples`) that were applied without being filled in. */

import { decodeDataUrl } from '../encoding/data-url';
import type { FieldProblem } from '../field-problem';
import type { ContentPorts } from './admission-contents';
import type { Report } from './admission-problem';
import type { MachineConfigSpec } from './types';

/** Marks each place of an example that a person has to fill in. */
export const PLACEHOLDER = 'SLIPWAY-REPLACE-ME';

export const PLACEHOLDER_PROBLEM = `this is still the placeholder ${PLACEHOLDER} of an example`;
const PLACEHOLDER_FIX = `write your own value in its place, or remove the object`;

export function hasPlaceholder(value: unknown): boolean {
  return typeof value === 'string' && value.includes(PLACEHOLDER);
}

/**
 * Reports each text of the spec with a placeholder, also in the decoded contents of files.
 *
 * @returns whether there was one
 */
export function reportPlaceholders(
  spec: MachineConfigSpec,
  ports: Pick<ContentPorts, 'gunzip'>,
  report: Report,
): boolean {
  let found = false;
  const look = (value: unknown, field: string): void => {
    if (hasPlaceholder(value)) {
      found = true;
      report(field, PLACEHOLDER_PROBLEM, PLACEHOLDER_FIX);
    } else if (Array.isArray(value)) {
      value.forEach((item, i) => look(item, `${field}[${i}]`));
    } else if (typeof value === 'object' && value !== null) {
      if (hidesPlaceholder(value, ports)) {
        found = true;
        report(`${field}.source`, PLACEHOLDER_PROBLEM, PLACEHOLDER_FIX);
      } else {
        for (const [key, item] of Object.entries(value)) look(item, `${field}.${key}`);
      }
    }
  };
  look(spec, 'spec');
  return found;
}

/** The texts with a placeholder in an object of another kind than MachineConfig, by path. */
export function placeholdersIn(
  value: unknown,
  path: FieldProblem['path'],
): readonly FieldProblem[] {
  if (hasPlaceholder(value)) return [{ path, problem: PLACEHOLDER_PROBLEM, fix: PLACEHOLDER_FIX }];
  if (Array.isArray(value)) return value.flatMap((item, i) => placeholdersIn(item, [...path, i]));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => placeholdersIn(item, [...path, key]));
}

/** Possible contents of a file; the object may have any shape. */
interface Contents {
  readonly source?: unknown;
  readonly compression?: unknown;
}

/** Whether the decoded data of a data URL have the placeholder, and its text has not. */
function hidesPlaceholder(
  { source, compression }: Contents,
  ports: Pick<ContentPorts, 'gunzip'>,
): boolean {
  if (typeof source !== 'string' || !source.startsWith('data:') || hasPlaceholder(source))
    return false;
  const { bytes } = decodeDataUrl(source) as { readonly bytes?: Uint8Array };
  if (bytes === undefined) return false;
  return includesPlaceholder(compression === 'gzip' ? unpacked(bytes, ports) : bytes);
}

/** Empty for a broken gzip stream, which is reported with the contents. */
function unpacked(bytes: Uint8Array, ports: Pick<ContentPorts, 'gunzip'>): Uint8Array {
  try {
    return ports.gunzip(bytes);
  } catch {
    return new Uint8Array();
  }
}

const BYTES = [...PLACEHOLDER].map((letter) => letter.charCodeAt(0));

function includesPlaceholder(bytes: Uint8Array): boolean {
  const [first = 0] = BYTES;
  for (let at = bytes.indexOf(first); at !== -1; at = bytes.indexOf(first, at + 1)) {
    if (BYTES.every((byte, i) => bytes[at + i] === byte)) return true;
  }
  return false;
}
