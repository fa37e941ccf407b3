/** Shell completion, generated from the commands. */

import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** For `source <(slipway completion SHELL)`. */
export function completionScript(program: Command, shell: Shell): string {
  const words = wordsByPlace(program);
  switch (shell) {
    case 'bash':
      return bash(words, flagsWithValue(program));
    case 'zsh':
      return zsh(words, flagsWithValue(program));
    case 'fish':
      return fish(words);
  }
}

type Words = ReadonlyMap<string, readonly string[]>;

/** Subcommands, choices of an argument, long flags. */
function wordsByPlace(command: Command, place: readonly string[] = []): Words {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ...command.options.flatMap((option) => option.long ?? []),
  ];
  const found = new Map<string, readonly string[]>([[place.join(' '), words]]);
  for (const child of command.commands) {
    for (const [key, value] of wordsByPlace(child, [...place, child.name()])) found.set(key, value);
  }
  return found;
}

function flagsWithValue(command: Command): readonly string[] {
  const own = command.options
    .filter((option) => option.required || option.optional)
    .flatMap((option) => [option.long ?? [], option.short ?? []].flat());
  return [...new Set([...own, ...command.commands.flatMap(flagsWithValue)])];
}

/** The deepest first, because the branch of a command also matches its subcommands. */
function branches(words: Words, line: (list: readonly string[]) => string): string {
  return [...words]
    .sort(([a], [b]) => b.length - a.length)
    .map(([place, list]) => {
      const pattern = place === '' ? "''" : `'${place}'|'${place} '*`;
      return `    ${pattern}) ${line(list)} ;;`;
    })
    .join('\n');
}

/** Finds the command in the words so far, for both shells. */
function placeOf(withValue: readonly string[]): string {
  return `    if [[ -n $skip ]]; then skip=''; continue; fi
    case $word in
      ${withValue.join('|')}) skip=1 ;;
      -*) ;;
      *) place="\${place:+$place }$word" ;;
    esac`;
}

/** bash 3.2 has no `mapfile`. */
function bash(words: Words, withValue: readonly string[]): string {
  return `_slipway() {
  local place='' word words='' skip=''
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${placeOf(withValue)}
  done
  [[ -z $skip ]] || return 0
  case $place in
${branches(words, (list) => `words='${list.join(' ')}'`)}
  esac
  COMPREPLY=( $(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}") )
}
complete -o default -F _slipway slipway
`;
}

/** Works when sourced and as the file _slipway in fpath. `path` is the PATH in zsh. */
function zsh(words: Words, withValue: readonly string[]): string {
  return `#compdef slipway

_slipway() {
  local place='' word skip=''
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
${placeOf(withValue)}
  done
  if [[ -n $skip ]]; then _files; return; fi
  case $place in
${branches(words, (list) => `offered=(${list.join(' ')})`)}
  esac
  compadd -- $offered
}

if [[ $funcstack[1] == _slipway ]]; then
  _slipway "$@"
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
  compdef _slipway slipway
fi
`;
}

function fish(words: Words): string {
  const lines = [...words].flatMap(([place, list]) => {
    const seen =
      place === ''
        ? '__fish_use_subcommand'
        : `__fish_seen_subcommand_from ${place.split(' ').at(-1)}`;
    return list
      .filter((word) => !word.startsWith('--'))
      .map((word) => `complete -c slipway -f -n '${seen}' -a '${word}'`);
  });
  return `${lines.join('\n')}\n`;
}
