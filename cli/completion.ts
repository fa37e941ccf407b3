/** Shell completion, generated from the commands themselves. */

import type { Command } from 'commander';

/** Words that may follow each command path: subcommands and long options. */
function wordsByPath(command: Command, path: readonly string[] = []): Map<string, string[]> {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.options.flatMap((option) => (option.long == null ? [] : [option.long])),
  ];
  const found = new Map([[path.join(' '), words]]);
  for (const child of command.commands) {
    for (const [key, value] of wordsByPath(child, [...path, child.name()])) found.set(key, value);
  }
  return found;
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The script for `source <(slipway completion SHELL)`. */
export function completionScript(program: Command, shell: Shell): string {
  const words = wordsByPath(program);
  switch (shell) {
    case 'bash':
      return bash(words);
    case 'zsh':
      return `#compdef slipway\nautoload -U +X bashcompinit && bashcompinit\n${bash(words)}`;
    case 'fish':
      return fish(words);
  }
}

function bash(words: Map<string, string[]>): string {
  const cases = [...words]
    .sort(([a], [b]) => b.length - a.length)
    .map(([path, list]) => `    '${path}'*) words='${list.join(' ')}' ;;`);
  return `_slipway() {
  local path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || path="\${path:+$path }$word"
  done
  case "$path" in
${cases.join('\n')}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
complete -F _slipway slipway
`;
}

function fish(words: Map<string, string[]>): string {
  const lines = [...words].flatMap(([path, list]) => {
    const seen =
      path === ''
        ? '__fish_use_subcommand'
        : `__fish_seen_subcommand_from ${path.split(' ').at(-1)}`;
    return list
      .filter((word) => !word.startsWith('--'))
      .map((word) => `complete -c slipway -f -n '${seen}' -a '${word}'`);
  });
  return `${lines.join('\n')}\n`;
}
