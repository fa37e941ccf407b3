import { WatchCache } from '../../../../adapters/kube/cache';
import type { KubeClient } from '../../../../adapters/kube/client';
import { NODES } from '../../../../adapters/kube/resources';
import { NodeWriter, type NodePatch } from '../../../../adapters/kube/writers';
import { fail } from '../../../../core/errors';
import type { Node } from '../../../../core/node/types';

const quiet = (): void => undefined;

function aNode(resourceVersion: string, unschedulable?: true): Node {
  return {
    metadata: { name: 'n', uid: 'u', resourceVersion },
    spec: unschedulable === undefined ? {} : { unschedulable },
  };
}

/** A server with one Node, and a cache with an older version of it. */
function aServer(live: Node, cached: Node) {
  const calls: string[] = [];
  const client = {
    get: () => {
      calls.push('get');
      return Promise.resolve(live);
    },
    patch: () => {
      calls.push('patch');
      return Promise.resolve(aNode('9'));
    },
  } as unknown as KubeClient;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  const cache = new WatchCache<Node>({ resource: NODES, log });
  cache.absorb(cached);
  return { calls, writer: new NodeWriter(client, cache, 'test') };
}

const uncordon = (node: Node): NodePatch | undefined =>
  node.spec?.unschedulable === true ? { unschedulable: false } : undefined;

it('does not believe an older cache that there is nothing to do', async () => {
  const { calls, writer } = aServer(aNode('2', true), aNode('1'));

  await writer.change('n', uncordon);

  expect(calls).toEqual(['get', 'patch']);
});

it('reads once when there is really nothing to do', async () => {
  const { calls, writer } = aServer(aNode('1'), aNode('1'));

  await expect(writer.change('n', uncordon)).resolves.toMatchObject({ spec: {} });

  expect(calls).toEqual(['get']);
});

it('writes what an older cache asks for without reading: the server compares versions', async () => {
  const { calls, writer } = aServer(aNode('1', true), aNode('1', true));

  await writer.change('n', uncordon);

  expect(calls).toEqual(['patch']);
});

it('refuses only on the Node as it is', async () => {
  const refuseCordoned = (node: Node): NodePatch => {
    if (node.spec?.unschedulable === true) throw fail('CordonedByUser', 'cordoned');
    return { unschedulable: true };
  };

  const lifted = aServer(aNode('2'), aNode('1', true));
  await lifted.writer.change('n', refuseCordoned);
  expect(lifted.calls).toEqual(['get', 'patch']);

  const still = aServer(aNode('1', true), aNode('1', true));
  await expect(still.writer.change('n', refuseCordoned)).rejects.toMatchObject({
    name: 'CordonedByUser',
  });
});
