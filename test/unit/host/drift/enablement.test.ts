import { enablementDrift } from '../../../../host/drift/compare';
import type { Enablement } from '../../../../adapters/host';

function drift(now: Enablement, enabled: boolean): Promise<string | undefined> {
  return enablementDrift(
    { systemd: { enablement: () => Promise.resolve(now) } } as unknown as Parameters<
      typeof enablementDrift
    >[0],
    'chronyd.service',
    enabled,
  );
}

describe('a unit that is to be enabled', () => {
  it.each(['disabled', 'masked'] as const)('has drifted when it is %s', async (now) => {
    await expect(drift(now, true)).resolves.toBe(
      `unit chronyd.service is ${now}, expected enabled`,
    );
  });

  it.each(['enabled', 'static', 'absent'] as const)('has not when it is %s', async (now) => {
    await expect(drift(now, true)).resolves.toBeUndefined();
  });
});

describe('a unit that is to be disabled', () => {
  it('has drifted when it is enabled', async () => {
    await expect(drift('enabled', false)).resolves.toContain('is enabled, expected disabled');
  });

  it.each(['disabled', 'masked', 'static', 'absent'] as const)(
    'has not when it is %s',
    async (now) => {
      await expect(drift(now, false)).resolves.toBeUndefined();
    },
  );
});
