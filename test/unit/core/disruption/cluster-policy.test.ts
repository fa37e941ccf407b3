import { readDisruptionPolicy } from '../../../../core/disruption';

it('reads files, units and SSH keys', () => {
  const policy = {
    files: [
      { path: '/etc/a', actions: [{ type: 'Reload', reload: { serviceName: 'a.service' } }] },
    ],
    units: [{ name: 'b.service', actions: [{ type: 'None' }] }],
    sshkey: { actions: [{ type: 'Drain' }, { type: 'DaemonReload' }] },
  };

  expect(readDisruptionPolicy(policy)).toEqual(policy);
});

it.each([
  ['nothing', undefined],
  ['a list', []],
  ['a text', 'None'],
  ['members of the wrong type', { files: 'x', units: 4, sshkey: [] }],
])('takes %s for no policy', (_name, value) => {
  expect(readDisruptionPolicy(value)).toEqual({});
});

it('drops an entry with an action that it does not know, so that its path keeps its cost', () => {
  const policy = {
    files: [
      { path: '/etc/a', actions: [{ type: 'None' }, { type: 'Whatever' }] },
      { path: '/etc/b', actions: [{ type: 'Restart' }] },
      { path: '/etc/c', actions: [] },
      { path: '', actions: [{ type: 'None' }] },
      { path: '/etc/d', actions: [{ type: 'None' }] },
    ],
  };

  expect(readDisruptionPolicy(policy)).toEqual({
    files: [{ path: '/etc/d', actions: [{ type: 'None' }] }],
  });
});

it('does not let a person write the action that only registries.conf has', () => {
  expect(
    readDisruptionPolicy({ files: [{ path: '/etc/a', actions: [{ type: 'Special' }] }] }),
  ).toEqual({});
});

it('drops an entry that would have the host worker end itself in the middle of an update', () => {
  const restart = (serviceName: string) => [{ type: 'Restart', restart: { serviceName } }];
  const policy = {
    files: [
      { path: '/etc/a', actions: restart('slipway-host.service') },
      { path: '/etc/b', actions: restart('slipway-host') },
      { path: '/etc/c', actions: restart('slipway-host-monitor.service') },
    ],
    units: [
      {
        name: 'slipway-host-settle.service',
        actions: [{ type: 'Reload', reload: { serviceName: 'slipway-host-settle.service' } }],
      },
      { name: 'slipway-host.service', actions: [{ type: 'DaemonReload' }] },
    ],
  };

  expect(readDisruptionPolicy(policy)).toEqual({
    files: [{ path: '/etc/c', actions: restart('slipway-host-monitor.service') }],
    units: [{ name: 'slipway-host.service', actions: [{ type: 'DaemonReload' }] }],
  });
});
