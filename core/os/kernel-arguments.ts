/** Kernel arguments: how entries of a MachineConfig become single arguments and commands. */

/**
 * Single arguments of MachineConfig entries, in order and with repetitions. An entry is split at white
 * space outside double quotes, as the kernel splits its command line; a quote cannot be escaped.
 *
 * @see MCO pkg/daemon/update.go, parseKernelArguments (7ff337a4)
 */
export function splitKernelArguments(entries: readonly string[]): readonly string[] {
  return entries.flatMap((entry) => splitEntry(entry));
}

function splitEntry(entry: string): string[] {
  const found: string[] = [];
  let current = '';
  let quoted = false;
  for (const character of entry) {
    if (character === '"') quoted = !quoted;
    if (!quoted && /[ \f\n\r\t\v]/.test(character)) {
      if (current !== '') found.push(current.trim());
      current = '';
    } else {
      current += character;
    }
  }
  if (current !== '') found.push(current.trim());
  return found;
}

/**
 * The arguments of `rpm-ostree kargs`: every old argument is deleted and every new one appended, also
 * those that stay, so that the order on the command line is the order of the new config.
 *
 * @see MCO pkg/daemon/update.go, generateKargs (7ff337a4)
 */
export function rpmOstreeKernelArguments(
  oldEntries: readonly string[],
  newEntries: readonly string[],
): readonly string[] {
  return [
    ...splitKernelArguments(oldEntries).map((argument) => `--delete-if-present=${argument}`),
    ...splitKernelArguments(newEntries).map((argument) => `--append=${argument}`),
  ];
}

/**
 * A single argument as it may be told: `nosmt`, `luks.key=…`. Values may be secret, and what is told of an
 * update is kept in histories, annotations and logs that more people read than the config.
 */
export function withoutArgumentValue(argument: string): string {
  const end = argument.indexOf('=');
  return end === -1 ? argument : `${argument.slice(0, end).replaceAll('"', '')}=…`;
}

/** Which single arguments come and go. */
export interface KernelArgumentChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/**
 * Arguments that only one side has, repetitions counted; a pure reordering gives two empty lists.
 */
export function kernelArgumentChanges(
  oldEntries: readonly string[],
  newEntries: readonly string[],
): KernelArgumentChanges {
  const before = splitKernelArguments(oldEntries);
  const after = splitKernelArguments(newEntries);
  return { add: without(after, before), remove: without(before, after) };
}

/** `from` minus `taken`, each occurrence taken once. */
function without(from: readonly string[], taken: readonly string[]): readonly string[] {
  const left = [...taken];
  return from.filter((argument) => {
    const at = left.indexOf(argument);
    if (at === -1) return true;
    left.splice(at, 1);
    return false;
  });
}
