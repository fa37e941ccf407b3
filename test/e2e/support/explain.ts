/** Why a story does not go on, as seen from outside; for the message of a failed wait. */

import { isAtRest } from '../../observer/until';
import type { CliRun } from './ask-until';
import type { World } from './world';
import { linesOf, type LogLine } from './logs';
import { rolloutHistory, updateHistory } from './rollout-history';

/** More nodes usually have the same reason. */
const NODES = 3;
const LINES = 12;

/**
 * For some nodes that are not at rest: the state in the API server (an observer may lag), the answer of the CLI,
 * and the last lines of the logs.
 */
export async function explain(world: Pick<World, 'api' | 'record' | 'slipway' | 'stack'>) {
  const unfinished = world.record.nodes.filter((node) => !isAtRest(node)).slice(0, NODES);
  const parts = await Promise.all([
    said(world.slipway(['rollout', 'status', 'worker'])),
    said(rolloutHistory(world.stack, 'worker')),
    ...unfinished.map(async ({ name }) => {
      const [node, status, updates] = await Promise.all([
        said(readNode(world, name)),
        said(world.slipway(['node', 'status', name])),
        said(updateHistory(world.stack, name)),
      ]);
      const words = lastWords(world, name);
      return [`${name} at the API server: ${node}`, status, updates, ...words].join('\n');
    }),
  ]);
  return parts.join('\n');
}

async function readNode({ api }: Pick<World, 'api'>, name: string): Promise<string> {
  const { metadata, spec, status } = await api.call<NodeObject>('GET', `/api/v1/nodes/${name}`);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  return JSON.stringify({ version: metadata.resourceVersion, ...spec, ready });
}

interface NodeObject {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly unschedulable?: boolean };
  readonly status: { readonly conditions?: readonly { readonly type: string }[] };
}

async function said(answer: Promise<CliRun | string>): Promise<string> {
  try {
    const given = await answer;
    return typeof given === 'string' ? given : `${given.out}${given.err}`;
  } catch (error) {
    return String(error);
  }
}

function lastWords({ stack }: Pick<World, 'stack'>, node: string): readonly string[] {
  return ['host-worker/worker', 'cluster-worker'].flatMap((process) => {
    const lines = linesOf(stack.product.logFile(process)).filter(
      (line) => speaksOf(line, node) || isWarning(line),
    );
    return [
      `last words of ${process}:`,
      ...lines.slice(-LINES).map((line) => JSON.stringify(line)),
    ];
  });
}

function speaksOf(line: LogLine, node: string): boolean {
  return line['node'] === node || Object.values(line).some((value) => isOf(value, node));
}

/** A fault of the rollout itself names no node. */
function isWarning({ level }: LogLine): boolean {
  return level === 'warn' || level === 'error';
}

/** Does not match `worker-1` in `worker-10`. */
function isOf(value: unknown, node: string): boolean {
  return typeof value === 'string' && new RegExp(`\\b${node}(?![\\d-])`).test(value);
}
