/** What stands for something else in `[Install]`: `%p`, `%i`. */

/** Those that the machine decides on: its name, its release, who asks. */
const OF_THE_MACHINE: ReadonlySet<string> = new Set('aAbBgGHlmMoquUvwW');

/**
 * Puts the parts of a unit's name for `%i`, `%j`, `%n`, `%N` and `%p`; undefined when the machine decides.
 * What systemd does not know in `[Install]` stays as it is: with its percent sign it is in no name of a unit.
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
