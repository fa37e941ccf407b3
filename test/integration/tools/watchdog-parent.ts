// Starts two children and makes a temporary directory; prints `ready` with the process IDs, and stays until it is
// killed or stdin ends. argv[3] selects its end, or a child that ignores SIGTERM.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startProcess } from '../../../tools/processes/managed-process';
import { adoptDirectory } from '../../../tools/processes/watchdog';

const [, , directory = '', way = ''] = process.argv;

async function main(): Promise<void> {
  const temporary = join(directory, 'temporary');
  mkdirSync(temporary);
  adoptDirectory(temporary);
  const start = (name: string, script: string): Promise<{ pid: number }> =>
    startProcess({
      name,
      command: process.execPath,
      args: ['-e', `${script}; setInterval(() => undefined, 1000); console.log('up')`],
      logFile: join(directory, `${name}.log`),
    });
  const obedient = await start('obedient', '');
  const deaf = "process.on('SIGTERM', () => undefined)";
  const other = await start('other', way === 'stubborn' ? deaf : '');
  process.stdout.write(`ready ${obedient.pid} ${other.pid}\n`);
  process.stdin.resume().once('end', () => {
    if (way === 'throw') throw new Error('a crash on purpose, in a test');
    if (way === 'exit') process.exit(0);
  });
}

void main();
