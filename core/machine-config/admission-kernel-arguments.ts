/** Kernel arguments that the kernel reads differently: an open quote swallows the next entry. */

import { splitKernelArguments } from '../os/kernel-arguments';
import type { AdmissionProblem } from './admission-problem';
import type { Source } from './source';

interface Entry {
  readonly machineConfig: string;
  readonly field: string;
  readonly text: string;
}

/**
 * Entries that a host could never verify on the kernel command line: hosts parse each entry by
 * itself, and the kernel all of them as one line. A quote in the very last entry makes no
 * difference.
 *
 * @param sources - in merge order
 */
export function kernelArgumentProblems(sources: readonly Source[]): readonly AdmissionProblem[] {
  const entries = sources.flatMap(entriesOf);
  const texts = entries.map(({ text }) => text);
  const given = new Set(splitKernelArguments([texts.join(' ')]));
  if (splitKernelArguments(texts).every((word) => given.has(word))) return [];
  return unclosed(entries.slice(0, -1)).map(({ machineConfig, field }) => ({
    machineConfig,
    field,
    problem: 'a double quote is left open, and the kernel takes the next entry for a part of it',
    fix: 'close it in the same entry, or write one entry for both',
  }));
}

function entriesOf({ name, machineConfig }: Source): readonly Entry[] {
  const list = machineConfig.spec.kernelArguments ?? [];
  return list.map((text, i) => ({
    machineConfig: name,
    field: `spec.kernelArguments[${i}]`,
    text,
  }));
}

/** Entries that open a quote; one that closes another's quote is valid. */
function unclosed(entries: readonly Entry[]): readonly Entry[] {
  let isOpen = false;
  return entries.filter(({ text }) => {
    const wasOpen = isOpen;
    if (text.split('"').length % 2 === 0) isOpen = !isOpen;
    return isOpen && !wasOpen;
  });
}
