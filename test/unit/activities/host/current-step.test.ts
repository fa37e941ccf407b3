import { MockActivityEnvironment } from '@temporalio/testing';
import { currentStep, withHeartbeats } from '../../../../activities/host/host-activities';

describe('the heartbeat of a host activity', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('says what is done and how far a pull is, and repeats it as a sign of life', async () => {
    const heard: unknown[] = [];
    const environment = new MockActivityEnvironment();
    environment.on('heartbeat', (details: unknown) => heard.push(details));
    const pull = { bytes: 10, totalBytes: 20, layers: 1, totalLayers: 2 };
    const { step } = withHeartbeats({
      async step() {
        await jest.advanceTimersByTimeAsync(3_000);
        currentStep().progress('pulling os', pull);
        await jest.advanceTimersByTimeAsync(6_000);
      },
    });

    await environment.run(step);

    const details = { at: 'pulling os', pull };
    expect(heard).toEqual([undefined, details, details, details]);
  });
});
