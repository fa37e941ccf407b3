import { bundleCondition } from '../../../core/host-bundle';
import type { MachineConfigNode } from '../../../core/node/types';
import { createBundleRecorder } from '../../../server/bundles/recorder';

const OLD = { pool: 'worker', digest: 'a'.repeat(64), problems: [] };
const NEW = { ...OLD, digest: 'b'.repeat(64) };

function aRecorder() {
  const shown = bundleCondition({ digest: OLD.digest }, OLD, undefined, '2030-01-01T00:00:00Z');
  const state: MachineConfigNode = {
    metadata: { name: 'worker-1', uid: 'u', resourceVersion: '1' },
    spec: { node: { name: 'worker-1' }, pool: { name: 'worker' }, configVersion: { desired: 'a' } },
    status: { conditions: [shown] },
  };
  const reasons: string[] = [];
  const recorder = createBundleRecorder(
    { node: (name) => ({ metadata: { name } }), machineConfigNode: () => state },
    async (_node, condition) => {
      reasons.push(condition.reason);
      await Promise.resolve();
      const resourceVersion = String(reasons.length + 1);
      const metadata = { ...state.metadata, resourceVersion };
      return { ...state, metadata, status: { conditions: [condition] } };
    },
  );
  return { recorder, reasons };
}

it('shows an older bundle once, and then the report of the host', async () => {
  const { recorder, reasons } = aRecorder();

  await Promise.all([
    recorder.recordOlder('worker-1', NEW),
    recorder.recordOlder('worker-1', NEW),
    recorder.record('worker-1', { digest: NEW.digest }, NEW),
  ]);

  expect(reasons).toEqual(['Older', 'Written']);
});

it('shows no older bundle over a report that is being written', async () => {
  const { recorder, reasons } = aRecorder();

  await Promise.all([
    recorder.record('worker-1', { digest: NEW.digest }, NEW),
    recorder.recordOlder('worker-1', NEW),
  ]);

  expect(reasons).toEqual(['Written']);
});
