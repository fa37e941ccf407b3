/** The second serial port of an emulated machine is a socket here. */

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { followLines, type Lines } from './lines';

export interface Shell {
  /** @throws Error when it fails, or the machine goes off first */
  output(command: string): Promise<string>;
  /** Does not wait: the machine may be gone before it answers. */
  type(command: string): void;
  close(): void;
}

interface Connected {
  readonly socket: Socket;
  readonly answers: Lines;
}

/** @param path - the machine connects to it at each start */
export async function listen(path: string): Promise<Shell> {
  let connected: Connected | undefined;
  let commands = 0;
  const server = createServer((socket) => {
    const answers = followLines('the shell');
    connected = { socket, answers };
    // Its end is the machine's end.
    socket.on('error', () => undefined);
    socket.on('close', () => answers.end());
    createInterface(socket).on('line', (line) => answers.add(line.replace(/\r$/, '')));
  });
  server.listen(path);
  await once(server, 'listening');
  const now = (): Connected => {
    if (connected === undefined) throw new Error('the machine has not been turned on');
    return connected;
  };
  return {
    type: (command) => void now().socket.write(`${command}\n`),
    output: async (command) => {
      const { socket, answers } = now();
      commands += 1;
      const end = `end of ${commands}`;
      const from = answers.all().length;
      // On a line of its own, also after output without a line end.
      socket.write(`{ ${command}; } 2>&1; status=$?; echo; echo "${end}: $status"\n`);
      const last = await answers.until(end, from);
      const said = answers.all().slice(from);
      const text = said.slice(0, said.indexOf(last)).join('\n').replace(/\n$/, '');
      if (last !== `${end}: 0`) throw new Error(`${command} failed at the machine: ${text}`);
      return text;
    },
    close: () => {
      connected?.socket.destroy();
      server.close();
    },
  };
}
