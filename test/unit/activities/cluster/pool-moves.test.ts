import { movesOf } from '../../../../activities/cluster/pool-moves';
import { fail } from '../../../../core/errors';
import type { Node } from '../../../../core/node/types';
import type { MachineConfigPool } from '../../../../core/pool/types';
import { pictureOf } from './picture-of';

const LABEL = 'node-role.kubernetes.io/worker';
const WORKER: MachineConfigPool = {
  metadata: { name: 'worker' },
  spec: { nodeSelector: { matchLabels: { [LABEL]: '' } } },
};

const aMember = (name: string): Node => ({ metadata: { name, labels: { [LABEL]: '' } } });

type Ports = Parameters<typeof movesOf>[0];

/** @param answer - of the API server, about one node */
function portsWith(shown: readonly Node[], answer: (name: string) => Promise<Node>) {
  const warned: unknown[] = [];
  const ports = {
    view: { nodes: pictureOf(shown), pools: pictureOf([WORKER]) },
    nodes: { read: answer },
    run: () => ({ log: { warn: (_: string, what: unknown) => warned.push(what) } }),
  } as unknown as Ports;
  return { ports, warned };
}

const remembered = (...names: readonly string[]) => names.map((node) => ({ node }));
const gone = (name: string) => Promise.reject(fail('ObjectNotFound', `node ${name} is not there`));

describe('remembered nodes that are not shown any more', () => {
  it('are asked for side by side, ten at once, and told in their order', async () => {
    const names = Array.from({ length: 25 }, (_, i) => `n${i}`);
    let asking = 0;
    let most = 0;
    let open = (): void => undefined;
    const ten = new Promise<void>((resolve) => {
      open = resolve;
    });
    const { ports } = portsWith([], async (name) => {
      asking += 1;
      most = Math.max(most, asking);
      if (asking === 10) open();
      // In sequence, they would wait for ever.
      await ten;
      asking -= 1;
      return gone(name);
    });

    const { departed } = await movesOf(ports, 'worker', remembered(...names));

    expect(departed.map(({ node }) => node)).toEqual(names);
    expect(most).toBe(10);
  });

  it('have not left when the server knows them, nor when it does not say', async () => {
    const { ports, warned } = portsWith([aMember('here')], (name) => {
      if (name === 'joined') return Promise.resolve(aMember(name));
      return name === 'left' ? gone(name) : Promise.reject(new Error('no answer'));
    });

    const { departed } = await movesOf(
      ports,
      'worker',
      remembered('here', 'joined', 'unknown', 'left'),
    );

    expect(departed).toEqual([{ node: 'left', deleted: true, reason: 'node left was deleted' }]);
    expect(warned).toEqual([{ node: 'unknown', reason: 'no answer' }]);
  });

  it('are back once the server says so, whatever the cache shows', async () => {
    const { ports } = portsWith(
      [aMember('back'), aMember('behind'), aMember('never-left')],
      (name) => {
        if (name === 'behind') return gone(name);
        return name === 'unknown'
          ? Promise.reject(new Error('no answer'))
          : Promise.resolve(aMember(name));
      },
    );
    const moved = remembered('back', 'behind', 'unknown').map((one) => ({
      ...one,
      moved: true as const,
    }));

    const { departed, returned } = await movesOf(ports, 'worker', [
      ...moved,
      ...remembered('never-left'),
    ]);

    expect(returned).toEqual(['back']);
    expect(departed.map(({ node }) => node)).toEqual(['behind']);
  });
});
