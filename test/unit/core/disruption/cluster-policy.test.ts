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
