/** Questions to systemctl about a unit, and actions when certificates change. */

import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHostFiles, createSystemctl } from '../../../../adapters/host';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'slipway-systemctl-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

function fake(answer: string) {
  const path = join(directory, 'systemctl');
  const log = join(directory, 'log');
  writeFileSync(path, `#!/bin/sh\necho "$@" >> ${log}\n${answer}\n`);
  chmodSync(path, 0o755);
  const systemd = createSystemctl(createHostFiles({ root: directory }), path);
  return { systemd, words: () => readFileSync(log, 'utf8').trim().split('\n') };
}

it('is asked for by property, and a name is never taken for an option', async () => {
  const { systemd, words } = fake(
    'printf "Type=simple\\nNRestarts=1\\nResult=signal\\nExecMainStatus=9\\nLoadState=loaded\\nActiveState=activating\\nSubState=auto-restart\\n"',
  );

  expect(await systemd.state('-x.service')).toEqual({
    load: 'loaded',
    active: 'activating',
    sub: 'auto-restart',
    result: 'signal',
    type: 'simple',
    restarts: 1,
    exitStatus: 9,
    restartPolicy: '',
    upMs: 0,
    hasRun: false,
  });
  expect(words()).toEqual([
    'show --property=LoadState,ActiveState,SubState,Result,Type,NRestarts,ExecMainStatus,Restart,ActiveEnterTimestampMonotonic,ExecMainExitTimestampMonotonic -- -x.service',
  ]);
});

it('is stopped by name', async () => {
  const { systemd, words } = fake('true');

  await systemd.stop('a.service');

  expect(words()).toEqual(['stop -- a.service']);
});
