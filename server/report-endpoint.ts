/**
 * `PUT /host/report`: a node reports drift, and receives the drift policy of its pool, the
 * authorities of the server, and what rolls the keys of orders.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { policyInForce } from '../core/disruption';
import { DEFAULT_DRIFT_POLICY, type DriftAnswer, resolveDriftPolicy } from '../core/drift';
import { failureName, messageOf } from '../core/errors';
import type { Node } from '../core/node/types';
import type { SignedText } from '../core/orders';
import { primaryPoolForNode } from '../core/pool/membership';
import { knownHost } from './known-host';
import { later, refuse } from './refusals';
import { createDriftRecorder } from './drift-recorder';
import { RepairWindows } from './repair-windows';
import { refuseOtherMethods } from './host-refusals';
import type { ClusterView, PeerSubject, WriteDrift } from './ports';
import { createReportLimit } from './report-limit';
import { readReport, REPORT_BYTES } from './report-schema';

interface ReportDependencies {
  readonly cluster: ClusterView;
  readonly writeDrift: WriteDrift;
  readonly identify: (request: FastifyRequest) => PeerSubject | undefined;
  /** Monotonic, milliseconds. */
  readonly clock?: () => number;
  /** Milliseconds since 1970, the same on all servers. */
  readonly wallClock?: () => number;
  /** PEM: the authorities by which hosts recognise the server; undefined = nobody says. */
  readonly serverAuthority?: () => string | undefined;
  /** What rolls the keys by which hosts know orders. */
  readonly orderStatements?: () => readonly SignedText[];
}

/** Only the certificate says which node reports. */
export function serveReports(host: FastifyInstance, dependencies: ReportDependencies): void {
  const { cluster, wallClock = Date.now } = dependencies;
  const recorder = createDriftRecorder(cluster, dependencies.writeDrift);
  const limit = createReportLimit(dependencies.clock);
  const turns = new RepairWindows(cluster, wallClock);

  async function receive(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const asking = knownHost(request, reply, dependencies);
    if (asking === undefined) return reply;
    const { name, node } = asking;
    const wait = limit.ask(name);
    if (wait > 0) {
      reply.header('retry-after', String(wait));
      return refuse(reply, 429, 'TooManyReports', `node ${name} reports too often`);
    }
    const read = readReport(request.body);
    if ('problems' in read) return refuse(reply, 400, 'BadReport', read.problems);
    if (!(await recorder.record(name, read.report))) {
      return later(reply, `there is no MachineConfigNode ${name} yet`);
    }
    const { count, forced, config } = read.report;
    request.log.info({ node: name, config, drifted: count, forced }, 'host reported');
    const serverAuthority = dependencies.serverAuthority?.();
    const answer = answerFor(node, count, { cluster, turns }, request);
    const orderKeys = dependencies.orderStatements?.() ?? [];
    return reply.send({
      ...answer,
      ...(serverAuthority === undefined ? {} : { serverAuthority }),
      ...(orderKeys.length === 0 ? {} : { orderKeys }),
    });
  }

  host.put('/host/report', { bodyLimit: REPORT_BYTES }, receive);
  refuseOtherMethods(host, '/host/report', ['PUT']);
}

/** With an impossible policy a host repairs nothing. */
function answerFor(
  node: Node,
  drifted: number,
  { cluster, turns }: { readonly cluster: ClusterView; readonly turns: RepairWindows },
  request: FastifyRequest,
): DriftAnswer {
  const { policy: disruptionPolicies } = policyInForce(cluster.machineConfiguration());
  try {
    const pool = primaryPoolForNode(node, cluster.pools());
    const policy = pool === undefined ? undefined : cluster.policy(pool.metadata.name)?.spec;
    const drift = resolveDriftPolicy(policy);
    // Evaluated only for a host with something to repair.
    const isAsking = pool !== undefined && drift.mode === 'Repair' && drifted > 0;
    const mayDisturb = isAsking && turns.mayDisturb(node, pool);
    return { drift, disruptionPolicies, mayDisturb };
  } catch (error) {
    if (failureName(error) === undefined) throw error;
    request.log.warn({ node: node.metadata.name, reason: messageOf(error) }, 'drift only reported');
    return { drift: DEFAULT_DRIFT_POLICY, disruptionPolicies, mayDisturb: false };
  }
}
