/**
 * `PUT /host/bundle`: a node says which bundle it has, and gets that of its pool when it was given
 * another one. Until there is one, the answer waits: no host has to ask again and again.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  bundleCondition,
  type BundleReport,
  bundleShown,
  type HostBundle,
} from '../../core/host-bundle';
import { bundlePool } from '../access';
import { createConditionRecorder } from '../condition-recorder';
import { refuseOtherMethods } from '../host-refusals';
import { knownHost } from '../known-host';
import type { ClusterView, PeerSubject, ReadNode, ReadPools, WriteConditions } from '../ports';
import { later, refuse } from '../refusals';
import { type HeldAnswer, HeldAnswers } from './held-answers';
import { BUNDLE_REPORT_BYTES, readBundleReport } from './schema';
import type { BundleSource } from './source';

interface BundleDependencies {
  readonly cluster: ClusterView;
  readonly bundles: BundleSource;
  readonly writeBundle: WriteConditions;
  readonly readNode: ReadNode;
  readonly readPools: ReadPools;
  readonly identify: (request: FastifyRequest) => PeerSubject | undefined;
  /** Seconds until the node may look once more at the API server; 0 = now. */
  readonly mayLook: (node: string) => number;
  /** While its answer waits, a connection gives way to others. Returns what ends that. */
  readonly letWait: (request: FastifyRequest) => () => void;
  /** How long an answer waits, ms. */
  readonly holdMs?: number;
}

interface Asking {
  readonly name: string;
  readonly report: BundleReport;
  readonly answer: HeldAnswer;
}

/** Hosts wait half a minute longer. */
const HOLD_MS = 240_000;
const SILENCE_MS = HOLD_MS + 60_000;

/** Only the certificate says which node asks, and only its labels say which pool it is in. */
export function serveBundles(host: FastifyInstance, dependencies: BundleDependencies): void {
  const { cluster, bundles, holdMs = HOLD_MS } = dependencies;
  const recorder = createConditionRecorder(cluster, dependencies.writeBundle);
  const held = new HeldAnswers();
  const texts = new WeakMap<HostBundle, string>();
  bundles.onChange(() => held.change(() => true));
  cluster.onMoved((moved) => {
    held.change(
      ({ node, pool }) => (moved === undefined || moved === node) && pool !== poolSeen(node),
    );
  });
  host.addHook('preClose', async () => held.change(() => true));

  async function receive(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const name = knownHost(request, reply, dependencies)?.name;
    if (name === undefined) return reply;
    const read = readBundleReport(request.body);
    if ('problems' in read) return refuse(reply, 400, 'BadReport', read.problems);
    const answer = held.hold(name);
    try {
      return await answerTo(request, reply, { name, report: read.report, answer });
    } finally {
      answer.release();
    }
  }

  async function answerTo(
    request: FastifyRequest,
    reply: FastifyReply,
    { name, report, answer }: Asking,
  ): Promise<unknown> {
    const own = await poolNow(name);
    if ('reason' in own) {
      request.log.warn({ node: name, reason: own.reason }, 'bundle refused');
      return refuse(reply, 403, 'Forbidden', own.reason);
    }
    answer.pool = own.pool;
    reply.header('cache-control', 'private, no-store');
    const bundle = bundles.bundleOf(own.pool);
    if (bundle !== undefined && bundle.digest !== report.given) {
      return give(request, reply, name, bundle);
    }
    if (bundle !== undefined && !(await record(name, report, bundle))) {
      return later(reply, `there is no MachineConfigNode ${name} yet`);
    }
    await untilChange(request, answer);
    // Who is still in the pool is judged anew.
    const now = await poolNow(name);
    const next = 'pool' in now ? bundles.bundleOf(now.pool) : undefined;
    const isNews = next !== undefined && next.digest !== report.given;
    if (!isNews || request.raw.socket.destroyed) return reply.code(204).send();
    return give(request, reply, name, next);
  }

  /** The watch may not have seen that the node joined a pool, and a refusal costs the host time. */
  async function poolNow(name: string) {
    const node = cluster.node(name);
    if (node === undefined) return { reason: `node ${name} is not known to the cluster` };
    const seen = bundlePool(node, cluster.pools());
    if ('pool' in seen || dependencies.mayLook(name) > 0) return seen;
    const [nodeNow = node, poolsNow] = await Promise.all([
      dependencies.readNode(name),
      dependencies.readPools(),
    ]);
    return bundlePool(nodeNow, poolsNow);
  }

  function record(name: string, report: BundleReport, { pool, digest }: HostBundle) {
    const problems = bundles.contents()?.problems ?? [];
    const given = { pool, digest, problems };
    return recorder.record(name, (known, instant) => [
      bundleCondition(report, given, bundleShown(known), instant),
    ]);
  }

  /**
   * Until there is another bundle, or its node is in another pool; also until the client leaves, or
   * the server ends.
   */
  async function untilChange(request: FastifyRequest, answer: HeldAnswer): Promise<void> {
    const resume = dependencies.letWait(request);
    const { socket } = request.raw;
    socket.setTimeout?.(SILENCE_MS);
    await answer.wait(socket, holdMs * (0.5 + 0.5 * Math.random()));
    resume();
    request.log.debug({ pool: answer.pool }, 'answer about a bundle waited');
  }

  /** As the watches show it; undefined = none. */
  function poolSeen(name: string): string | undefined {
    const node = cluster.node(name);
    const own = node && bundlePool(node, cluster.pools());
    return own !== undefined && 'pool' in own ? own.pool : undefined;
  }

  function give(request: FastifyRequest, reply: FastifyReply, node: string, bundle: HostBundle) {
    const { pool, digest, files } = bundle;
    request.log.info({ node, pool, digest, files: files.length }, 'bundle sent');
    return reply.type('application/json; charset=utf-8').send(textOf(bundle));
  }

  /** Once for all hosts of a pool. */
  function textOf(bundle: HostBundle): string {
    const text = texts.get(bundle) ?? JSON.stringify(bundle);
    texts.set(bundle, text);
    return text;
  }

  host.put('/host/bundle', { bodyLimit: BUNDLE_REPORT_BYTES }, receive);
  refuseOtherMethods(host, '/host/bundle', ['PUT']);
}
