/** Kernel arguments: from entries of a MachineConfig to single arguments and commands. */

/**
 * Single arguments of MachineConfig entries, in order and with repetitions. As in the kernel's
 * command line, an entry is split at white space outside double quotes; a quote cannot be escaped.
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
 * The arguments of `rpm-ostree kargs`: deletes every old argument and appends every new one, also
 * unchanged ones, so that the command line has the order of the new config.
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
 * A single argument for display: `nosmt`, `luks.key=…`. Values may be secret, and more people read
 * histories, annotations and logs than configs.
 */
export function withoutArgumentValue(argument: string): string {
  const end = argument.indexOf('=');
  return end === -1 ? argument : `${canonical(argument.slice(0, end))}=…`;
}

/**
 * Single arguments as the boot loader reads them: like MCO's, but single quotes join words, too. A
 * single quote that nothing closes is a letter.
 *
 * @see GRUB grub-core/script/yylex.l
 */
export function singleArguments(entries: readonly string[]): readonly string[] {
  const words = splitKernelArguments(entries);
  const found: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const end = hasOpenQuote(words[at]) ? words.findIndex((w, i) => i > at && hasOpenQuote(w)) : -1;
    found.push(words.slice(at, Math.max(at, end) + 1).join(' '));
    at = Math.max(at, end);
  }
  return found;
}

/**
 * Whether a single quote opens or closes in the word; escaped ones and those inside double quotes
 * do not count.
 */
function hasOpenQuote(word = ''): boolean {
  const counting = word.replaceAll(/\\.|"[^"]*"?/g, '');
  return counting.split("'").length % 2 === 0;
}

/**
 * The first letter of an entry that GRUB reads as its own syntax, so that the kernel gets something
 * else: `memmap=4G$4G` has to be written `memmap=4G\$4G`. Undefined = none.
 *
 * @see GRUB grub-core/script/yylex.l
 */
export function grubSyntaxIn(entry: string): string | undefined {
  const outside = entry.replaceAll(/\\.|'[^']*'/g, '');
  return /[;&|<>]/.exec(outside.replaceAll(/"[^"]*"/g, ''))?.[0] ?? /\$/.exec(outside)?.[0];
}

/**
 * A single argument for comparison, without quotes and backslashes, which only group and which GRUB
 * rewrites: it drops them from `a="b"` and `a='b'`, and turns `a="b c"` into `"a=b c"`. `-` and `_`
 * stay different, because no program changes them.
 *
 * @see Linux lib/cmdline.c, next_arg; GRUB grub-core/lib/cmdline.c, grub_create_loader_cmdline
 */
function canonical(argument: string): string {
  return argument.replaceAll(/["'\\]/g, '');
}

export function hasArgument(among: readonly string[], argument: string): boolean {
  const wanted = canonical(argument);
  return singleArguments(among).some((one) => canonical(one) === wanted);
}

/** Whether entries give the same single arguments in the same order, in any spelling. */
export function sameArguments(some: readonly string[], others: readonly string[]): boolean {
  const [one, other] = [canonicalWords(some), canonicalWords(others)];
  return one.length === other.length && one.every((word, i) => word === other[i]);
}

/** Empty quotes never reach the kernel. */
function canonicalWords(entries: readonly string[]): readonly string[] {
  return singleArguments(entries)
    .map(canonical)
    .filter((word) => word !== '');
}

export function missingArguments(
  entries: readonly string[],
  among: readonly string[],
): readonly string[] {
  return singleArguments(entries).filter(
    (argument) => canonical(argument) !== '' && !hasArgument(among, argument),
  );
}

/**
 * Single arguments of entries in the spelling of others, each occurrence used once; in their own
 * where the others lack them. An argument is deleted by its exact text.
 */
export function spelledAs(entries: readonly string[], among: readonly string[]): readonly string[] {
  const left = [...among];
  return splitKernelArguments(entries).map((argument) => takeFrom(left, argument) ?? argument);
}

/** Single arguments without the others, each occurrence once. */
export function withoutArguments(
  from: readonly string[],
  taken: readonly string[],
): readonly string[] {
  const left = [...from];
  for (const argument of taken) takeFrom(left, argument);
  return left;
}

/** Takes one occurrence out of the list, preferably of the same spelling. */
function takeFrom(list: string[], argument: string): string | undefined {
  const exact = list.indexOf(argument);
  const wanted = canonical(argument);
  const at = exact === -1 ? list.findIndex((one) => canonical(one) === wanted) : exact;
  return at === -1 ? undefined : list.splice(at, 1)[0];
}

interface KernelArgumentChanges {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

/**
 * Arguments that only one side has, repetitions counted; another order or spelling gives two empty
 * lists.
 */
export function kernelArgumentChanges(
  oldEntries: readonly string[],
  newEntries: readonly string[],
): KernelArgumentChanges {
  const before = singleArguments(oldEntries);
  const after = singleArguments(newEntries);
  return { add: withoutArguments(after, before), remove: withoutArguments(before, after) };
}
