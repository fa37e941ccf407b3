import { judgeRest } from '../../observer/judge-rest';
import { sightInto } from '../../observer/observer';
import { RolloutRecord } from '../../observer/record';
import type { Sight } from '../../observer/sight';
import { BLIND_MS } from '../../observer/sight';
import { node, POOL_CONDITIONS, status } from './objects';

interface Scene {
  readonly record: RolloutRecord;
  readonly temporal: Sight;
  readonly apiServer: Sight;
  judge(restMs?: number): Promise<readonly string[]>;
}

/** A pool at rest, with an observer that can read the API server and has never reached Temporal. */
function scene(): Scene {
  const record = new RolloutRecord({});
  record.nodeSeen(node('a'), 0);
  record.machineConfigNodeSeen(status('a'));
  const counts = { machineCount: 1, updatedMachineCount: 1, readyMachineCount: 1 };
  const none = { degradedMachineCount: 0, unavailableMachineCount: 0 };
  record.poolSeen(
    status('worker', { counts: { ...counts, ...none }, conditions: POOL_CONDITIONS }),
  );
  const temporal = sightInto(record, 'Temporal');
  const apiServer = sightInto(record, "the API server's nodes");
  apiServer.looked(performance.now());
  return {
    record,
    temporal,
    apiServer,
    judge: async (restMs = 60_000) => {
      await judgeRest({ record, pool: 'worker', sights: [apiServer, temporal], restMs });
      return record.found.map(({ invariant, text }) => `${invariant} ${text}`);
    },
  };
}

test('one that cannot check Temporal does not find a pool at rest in order', async () => {
  const { judge } = scene();
  expect(await judge(1)).toEqual([
    'observer Temporal: at rest, it could not be looked at for 0.001 s',
  ]);
});

test('neither does one whose watch is cut and does not open again', async () => {
  const { judge, temporal, apiServer } = scene();
  temporal.looked(performance.now());
  apiServer.lost(performance.now());
  expect(await judge(1)).toEqual([
    "observer the API server's nodes: at rest, it could not be looked at for 0.001 s",
  ]);
});

test('one that can reach it again waits only until its next check', async () => {
  const { judge, temporal } = scene();
  const verdict = judge();
  temporal.looked(performance.now());
  expect(await verdict).toEqual([]);
});

test('one that was blind for too long on the way says so, although it sees at rest', async () => {
  const { judge, temporal } = scene();
  temporal.looked(performance.now() + BLIND_MS + 1);
  expect(await judge()).toEqual([
    'observer Temporal: for over 5 minutes it could not be looked at',
  ]);
});
