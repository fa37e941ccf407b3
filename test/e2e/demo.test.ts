/** `npm run demo -- --fast`, as built: it ends well, and tells of a failing host and of its repair. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ManagedProcess, startProcess } from '../../tools/processes/managed-process';
import { adoptDirectory } from '../../tools/processes/watchdog';
import { repositoryRoot } from '../../tools/repository-root';

// Not from support/world.ts, which would load the whole stack into this process.
const STORY_MS = 360_000;
const STOP_MS = 90_000;

const FAILING = 'worker-11';
const STORY = [
  'ready; Temporal UI: http://',
  'kubectl apply -f demo/manifests/unit-with-dropin.yaml',
  'slipway rollout status worker --watch',
  `${FAILING} failed its verification: it went back to its old config and to service`,
  `slipway node retry ${FAILING}`,
  `node ${FAILING} will be tried again`,
  '12/12 updated',
  '1 failed',
  'left cordoned: none',
  'disruption budgets: respected at every instant',
  'its decoder   http://127.0.0.1:',
];

const directory = mkdtempSync(join(tmpdir(), 'slipway-demo-test-'));
const disown = adoptDirectory(directory);
let demo: ManagedProcess | undefined;

afterAll(async () => {
  await demo?.stop(STOP_MS / 2);
  rmSync(directory, { recursive: true, force: true });
  disown();
}, STOP_MS);

test(
  'the demo tells its whole story',
  async () => {
    demo = await startProcess({
      name: 'demo',
      command: process.execPath,
      args: [join(repositoryRoot(), 'dist', 'demo', 'main.js'), '--fast'],
      logFile: join(directory, 'output'),
      // Of a person who works with a Temporal of their own.
      environment: { TEMPORAL_ADDRESS: '127.0.0.1:7233', TEMPORAL_API_KEY: 'secret' },
    });
    const ending = await demo.exited;

    const output = readFileSync(demo.logFile, 'utf8');
    if (ending !== 'exit status 0') throw new Error(`${ending}\n${output}`);
    expect(toldInOrder(output)).toEqual(STORY);
  },
  STORY_MS,
);

function toldInOrder(output: string): readonly string[] {
  let from = 0;
  return STORY.filter((words) => {
    const at = output.indexOf(words, from);
    if (at >= 0) from = at + words.length;
    return at >= 0;
  });
}
