import { Writable } from 'node:stream';
import type { HostActivities } from '../../../../workflows/contracts/host';
import { fail } from '../../../../core/errors';
import { logged } from '../../../../workers/host/order-log';
import { withoutNoise } from '../../../../process/host/without-noise';
import { createLogger } from '../../../../process/logging';
import { aConfig, orderFor } from '../../host/a-host';

function recorded(level: 'debug' | 'info' = 'info') {
  const lines: Record<string, unknown>[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>);
      done();
    },
  });
  return { lines, log: createLogger({ process: 'test', level, destination }) };
}

describe('the log of a host worker', () => {
  it('has a line for each order: done, or why not', async () => {
    const { lines, log } = recorded();
    const order = orderFor(aConfig('rendered-worker-1'), 'x');
    const activities = logged(
      {
        commitUpdate: () => Promise.resolve(),
        applyUpdate: () => Promise.reject(fail('ApplyFailed', 'write /etc/a: no space')),
        verifyUpdate: () => Promise.reject(fail('NotYetRebooted', 'still in boot x')),
      } as unknown as HostActivities,
      log,
    );

    await activities.commitUpdate(order);
    await expect(activities.applyUpdate(order)).rejects.toThrow('no space');
    await expect(activities.verifyUpdate(order)).rejects.toThrow('still in boot');

    expect(lines).toEqual([
      expect.objectContaining({ level: 'info', msg: 'config is current', node: 'worker-1' }),
      expect.objectContaining({
        level: 'warn',
        failure: 'ApplyFailed',
        config: 'rendered-worker-1',
      }),
    ]);
  });

  it('leaves the noise of the SDK to those who debug', () => {
    const { lines, log } = recorded();
    const quiet = withoutNoise(log);

    quiet.info({ state: 'RUNNING' }, 'Worker state changed');
    quiet.warn({}, 'No workflows registered, not polling for workflow tasks');
    quiet.warn({}, 'something odd');
    quiet.error({}, 'something wrong');

    expect(lines.map(({ msg }) => msg)).toEqual(['something odd', 'something wrong']);
  });
});
