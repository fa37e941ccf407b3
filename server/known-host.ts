import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Node } from '../core/node/types';
import { nodeOfPeer } from './access';
import type { ClusterView, PeerSubject } from './ports';
import { later, refuse } from './refusals';

interface KnownHost {
  readonly name: string;
  readonly node: Node;
}

/**
 * Whose host asks: only the certificate says it.
 *
 * @returns undefined = it is answered already: no node, or one that the server has not seen. The
 *   watch may not have seen a new Node; the API server is not asked about it.
 */
export function knownHost(
  request: FastifyRequest,
  reply: FastifyReply,
  from: {
    readonly cluster: Pick<ClusterView, 'missing' | 'node'>;
    readonly identify: (request: FastifyRequest) => PeerSubject | undefined;
  },
): KnownHost | undefined {
  const name = nodeOfPeer(from.identify(request));
  if (name === undefined) {
    refuse(reply, 401, 'NotANode', 'the client certificate is not that of a node');
    return undefined;
  }
  const missing = from.cluster.missing();
  const node = from.cluster.node(name);
  if (missing.length > 0) later(reply, `not seen yet: ${missing.join(', ')}`);
  else if (node === undefined) later(reply, `node ${name} is not known to the cluster`);
  else return { name, node };
  return undefined;
}
