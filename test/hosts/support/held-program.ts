/** Stops a machine at a command of its OS program. */

import type { Machine } from '../machine/machine';

const PROGRAM = '/usr/bin/slipway-ostree';
/** A boot removes it, with the mount over the program. */
const FOLDER = '/run/held-program';
const REAL = `${FOLDER}/real`;
const IN_PLACE = `${FOLDER}/in-place`;
/** Pipes: the writer waits for the reader. */
const REACHED = `${FOLDER}/reached`;
const GO_ON = `${FOLDER}/go-on`;

export interface HeldProgram {
  untilReached(): Promise<void>;
  release(): Promise<void>;
}

/**
 * Before the command does anything.
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
      // The waiting shell has it open.
      await inside(`umount --lazy ${PROGRAM}`, `echo >${GO_ON}`);
    },
  };
}
