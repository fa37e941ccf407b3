// Ends the children of a Slipway process when it is gone, for any reason.
//
// The parent holds this process's stdin open while it lives, and writes one JSON line per change:
// {"add": pid, "startTime": …}, {"remove": pid}, {"addDirectory": path}, {"removeDirectory": path}.
// When the pipe closes, the listed processes are ended and the listed directories removed. Process
// IDs are reused, so start times are compared first. Plain Node without imports from npm.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

const GRACE_MS = 3000;
const CHECK_MS = 50;

const children = new Map();
const directories = new Set();

for await (const line of createInterface({ input: process.stdin })) {
  let change;
  try {
    change = JSON.parse(line);
  } catch {
    continue; // the last line of a parent that was killed while writing
  }
  if (change.add !== undefined) children.set(change.add, change.startTime);
  if (change.remove !== undefined) children.delete(change.remove);
  if (change.addDirectory !== undefined) directories.add(change.addDirectory);
  if (change.removeDirectory !== undefined) directories.delete(change.removeDirectory);
}

signalAll('SIGTERM');
const deadline = Date.now() + GRACE_MS;
while (anyRunning() && Date.now() < deadline) await delay(CHECK_MS);
signalAll('SIGKILL');
while (anyRunning()) await delay(CHECK_MS);
for (const directory of directories) rmSync(directory, { recursive: true, force: true });

function signalAll(signal) {
  for (const [pid, startTime] of children) {
    if (startTimeOf(pid) !== startTime) continue;
    try {
      process.kill(pid, signal);
    } catch {
      // it ended in between
    }
  }
}

function anyRunning() {
  return [...children].some(([pid, startTime]) => startTimeOf(pid) === startTime);
}

// As in identity.ts, which this uncompiled file cannot import.
function startTimeOf(pid) {
  if (process.platform !== 'linux') {
    const ps = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' });
    return ps.status === 0 ? ps.stdout.trim() || undefined : undefined;
  }
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
