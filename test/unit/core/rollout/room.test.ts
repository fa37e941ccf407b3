import { whyNoRoom, type Room } from '../../../../core/rollout/room';
import { cordoned, grantOf, old } from './rollout-pool';

type Row = Partial<Room> & { readonly so: string; readonly waits?: string };

describe('the last look before a cordon', () => {
  const rows: readonly Row[] = [
    { so: 'finds room for the first grant', grants: [grantOf('n'), grantOf('b')] },
    {
      so: 'counts the grants ahead, used or not, and none behind',
      grants: [grantOf('b'), grantOf('n'), grantOf('c')],
      maxUnavailable: 1,
      waits: 'waiting for room: maxUnavailable is 1; out of service: b',
    },
    {
      so: 'counts a node that is down and has no grant',
      members: [old('n'), old('down', { ready: 'False' }), old('theirs', { cordoned: true })],
      waits: 'waiting for room: maxUnavailable is 2; out of service: down, theirs',
    },
    {
      so: 'finds none where maxUnavailable is impossible',
      maxUnavailable: 0,
      waits: 'waiting for room: maxUnavailable is 0',
    },
    {
      so: 'counts a node that is out with its grant behind, because maxUnavailable was lowered',
      members: [old('n'), cordoned('b')],
      grants: [grantOf('n'), grantOf('b')],
      maxUnavailable: 1,
      waits: 'waiting for room: maxUnavailable is 1; out of service: b',
    },
    {
      so: 'counts no update ahead that takes nothing out of service',
      grants: [grantOf('b', 'r1', { serves: true }), grantOf('n')],
      maxUnavailable: 1,
    },
    {
      so: 'needs no room for a node that is out of service',
      members: [cordoned('n'), old('down', { ready: 'False' })],
      maxUnavailable: 1,
    },
    {
      so: 'needs none for an update that serves',
      grants: [grantOf('b'), grantOf('n', 'r1', { serves: true })],
      maxUnavailable: 1,
    },
    {
      so: 'waits without a grant, also with that of another run',
      grants: [grantOf('n', 'r2')],
      waits: 'waiting for its grant',
    },
    {
      so: 'leaves the control plane of all pools its quorum',
      controlPlane: [old('n'), old('other', { ready: 'False' }), old('third')],
      waits: 'waiting for room: at most 1 of 3 control-plane nodes at once; out of service: other',
    },
    {
      so: 'counts the grants that other pools gave earlier to the control plane, and none given later',
      grants: [grantOf('n', 'r1', { grantedAt: '2030-01-01T00:00:05Z' })],
      controlPlane: [old('n'), old('other'), old('third')],
      elsewhere: [
        grantOf('other', 'r2', { grantedAt: '2030-01-01T00:00:04Z' }),
        grantOf('third', 'r3', { grantedAt: '2030-01-01T00:00:06Z' }),
      ],
      waits: 'waiting for room: at most 1 of 3 control-plane nodes at once; out of service: other',
    },
    {
      so: 'counts no grant that another pool gave earlier to another node',
      grants: [grantOf('n', 'r1', { grantedAt: '2030-01-01T00:00:05Z' })],
      controlPlane: [old('n'), old('other'), old('third')],
      elsewhere: [grantOf('worker', 'r2', { grantedAt: '2030-01-01T00:00:04Z' })],
    },
  ];

  it.each(rows)('$so', ({ so, waits, ...room }) => {
    const usual = { node: 'n', run: 'r1', grants: [grantOf('n')], members: [old('n'), old('b')] };

    expect([so, whyNoRoom({ ...usual, maxUnavailable: 2, ...room })]).toEqual([so, waits]);
  });
});
