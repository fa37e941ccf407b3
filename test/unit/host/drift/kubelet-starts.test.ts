import { kubeletStarts } from '../../../../host/drift/kubelet-starts';

const link = (unit: string) => `/run/systemd/units/invocation:${unit}`;

it('notices starts of this machine’s kubelet, whatever the name of its unit, and of no other program', () => {
  let unit: string | undefined = 'own.service';
  const starts = kubeletStarts(() => unit);

  expect(starts.paths()).toEqual(
    expect.arrayContaining(['kubelet.service', 'rke2-agent.service', 'own.service'].map(link)),
  );
  expect(starts.isStart(link('own.service'))).toBe(true);
  expect(starts.isStart(link('kubelet.service'))).toBe(false);
  expect(starts.isStart('/etc/motd')).toBeUndefined();

  // Installed after the watch began.
  unit = 'k3s.service';
  expect(starts.isStart(link('k3s.service'))).toBe(true);
});
