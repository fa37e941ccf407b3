/** Specifiers that depend on the machine or the user: its name, its release. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set('aAbBgGHlmMoquUvwW');

/**
 * Expands `%i`, `%j`, `%n`, `%N` and `%p` from a unit's name; undefined when the machine decides.
 * Unknown specifiers stay: their percent sign makes the name invalid.
 *
 * @see systemd src/shared/install-printf.c, install_name_printf
 */
export function expandSpecifiers(text: string, unit: string): string | undefined {
  const full = unit.slice(0, unit.lastIndexOf('.'));
  const [prefix = '', instance = ''] = full.split(/@(.*)/s);
  const parts: Readonly<Record<string, string>> = {
    '%': '%',
    i: instance,
    j: prefix.slice(prefix.lastIndexOf('-') + 1),
    n: unit,
    N: full,
    p: prefix,
  };
  let isOpen = false;
  const expanded = text.replace(/%(.)/gs, (whole, letter: string) => {
    const isOfMachine = OF_THE_MACHINE.has(letter);
    isOpen ||= isOfMachine;
    return isOfMachine ? '' : (parts[letter] ?? whole);
  });
  return isOpen && !expanded.includes('%') ? undefined : expanded;
}
