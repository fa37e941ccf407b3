import { execFileSync } from 'node:child_process';
import { completionScript } from '../../../cli/completion';
import { buildProgram } from '../../../cli/program';

const program = buildProgram({ exit: jest.fn(), context: jest.fn() });

/** Bash's completions for the last of these words. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionScript(program, 'bash')}
COMP_WORDS=(slipway "$@")
COMP_CWORD=$#
_slipway
printf '%s\\n' "\${COMPREPLY[@]}"
`;
  const out = execFileSync('bash', ['--norc', '-c', script, 'bash', ...words], {
    encoding: 'utf8',
  });
  return out.split('\n').filter((line) => line !== '');
}

describe('in bash', () => {
  it.each([
    { words: ['ro'], expected: ['rollout'] },
    { words: ['host-'], expected: ['host-worker', 'host-first-boot', 'host-settle'] },
    { words: ['rollout', 'st'], expected: ['start', 'status'] },
    { words: ['rollout', 'status', 'worker', '--w'], expected: ['--watch'] },
    { words: ['--context', 'prod', 'node', 're'], expected: ['retry'] },
    { words: ['--no-color', 'node', 're'], expected: ['retry'] },
    { words: ['completion', ''], expected: ['bash', 'zsh', 'fish'] },
    { words: ['--kubeconfig', 'ro'], expected: [] },
    { words: ['nonsense', ''], expected: [] },
  ])('$words is completed to $expected', ({ words, expected }) => {
    expect([...offered(...words)].sort()).toEqual([...expected].sort());
  });

  it('uses nothing that bash 3.2 does not have', () => {
    expect(completionScript(program, 'bash')).not.toMatch(/\b(mapfile|readarray|declare -A)\b/);
  });
});

describe('in zsh', () => {
  const script = completionScript(program, 'zsh');

  it('uses nothing of bash', () => {
    expect(script).not.toMatch(
      /mapfile|readarray|compgen|COMP_|COMPREPLY|bashcompinit|\bcomplete\b/,
    );
    // In zsh, `path` is tied to PATH.
    expect(script).not.toMatch(/local[^\n]*\bpath\b/);
  });

  it('is registered by its first line and when it is sourced', () => {
    expect(script.startsWith('#compdef slipway\n')).toBe(true);
    expect(script).toContain('compdef _slipway slipway');
    expect(script).toContain("'rollout'|'rollout '*) offered=(start status pause");
  });
});
