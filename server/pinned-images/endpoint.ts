/**
 * `PUT /host/pinned-images`: a node says which of its pinned images it has, and gets those of its
 * pool when it was given others.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { pinnedConditions, pinnedOfPool } from '../../core/pinned-images';
import { bundlePool } from '../access';
import { createConditionRecorder } from '../condition-recorder';
import { refuseOtherMethods } from '../host-refusals';
import { knownHost } from '../known-host';
import type { ClusterView, PeerSubject, WriteConditions } from '../ports';
import { later, refuse } from '../refusals';
import { PINNED_REPORT_BYTES, readPinnedReport } from './schema';

interface PinnedDependencies {
  readonly cluster: ClusterView;
  readonly writePinned: WriteConditions;
  readonly identify: (request: FastifyRequest) => PeerSubject | undefined;
}

/** Only the certificate says which node asks, and only its labels say which pool it is in. */
export function servePinnedImages(host: FastifyInstance, dependencies: PinnedDependencies): void {
  const { cluster } = dependencies;
  const recorder = createConditionRecorder(cluster, dependencies.writePinned);

  async function receive(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const asking = knownHost(request, reply, dependencies);
    if (asking === undefined) return reply;
    const { name, node } = asking;
    const read = readPinnedReport(request.body);
    if ('problems' in read) return refuse(reply, 400, 'BadReport', read.problems);
    const pools = cluster.pools();
    const own = bundlePool(node, pools);
    if ('reason' in own) return later(reply, own.reason);
    const pool = pools.find(({ metadata }) => metadata.name === own.pool);
    if (pool === undefined) return later(reply, `pool ${own.pool} is not known to the server`);
    const given = pinnedOfPool(pool, cluster.pinnedImageSets());
    const { report } = read;
    const isKnown = await recorder.record(name, (known, instant) =>
      pinnedConditions(report, given, known, instant),
    );
    if (!isKnown) {
      return later(reply, `there is no MachineConfigNode ${name} yet`);
    }
    reply.header('cache-control', 'private, no-store');
    if (given.pinned.digest === report.given) return reply.code(204).send();
    const { digest, images } = given.pinned;
    request.log.debug({ node: name, digest, images: images.length }, 'pinned images sent');
    return reply.send(given.pinned);
  }

  host.put('/host/pinned-images', { bodyLimit: PINNED_REPORT_BYTES }, receive);
  refuseOtherMethods(host, '/host/pinned-images', ['PUT']);
}
