/** A machine that is stopped at a command of its operating system's program, however fast or slow it is. */

import type { Machine } from '../machine/machine';

const PROGRAM = '/usr/bin/slipway-ostree';
/** Gone with the next boot, as is what is mounted over the program. */
const FOLDER = '/run/held-program';
const REAL = `${FOLDER}/real`;
const IN_PLACE = `${FOLDER}/in-place`;
/** Pipes: whoever writes waits for whoever reads. */
const REACHED = `${FOLDER}/reached`;
const GO_ON = `${FOLDER}/go-on`;

export interface HeldProgram {
  /** Resolves once the machine waits there. */
  untilReached(): Promise<void>;
  /** Lets it go on, and puts the program back. */
  release(): Promise<void>;
}

/**
 * From now on the program waits at this command, before it does anything of it.
 *
 * @param command - its first word, such as `kernel-arguments`
 */
export async function holdAt(machine: Machine, command: string): Promise<HeldProgram> {
  const wrapper = [
    '#!/bin/sh',
    `case " $* " in *" ${command} "*) echo >${REACHED}; read -r line <${GO_ON} ;; esac`,
    `exec ${REAL} "$@"`,
  ];
  const inside = (...lines: readonly string[]) =>
    machine.output('sh', '-c', ['set -e', ...lines].join('\n'));
  await inside(
    `mkdir ${FOLDER}`,
    `mkfifo ${REACHED} ${GO_ON}`,
    `cp ${PROGRAM} ${REAL}`,
    `cat >${IN_PLACE} <<'END'\n${wrapper.join('\n')}\nEND`,
    `chmod 755 ${IN_PLACE}`,
    `mount --bind ${IN_PLACE} ${PROGRAM}`,
  );
  return {
    untilReached: async () => void (await inside(`read -r line <${REACHED}`)),
    release: async () => {
      // Lazily: the shell that waits has it open.
      await inside(`umount --lazy ${PROGRAM}`, `echo >${GO_ON}`);
    },
  };
}
