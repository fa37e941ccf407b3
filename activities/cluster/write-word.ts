/**
 * What a person tells a rollout, written where it outlives every process: on the pool or on the Node. Each is
 * decided on a fresh read, so that a late attempt does not undo what was said after it.
 */

import { cut } from '../../core/encoding/one-line';
import { fail } from '../../core/errors';
import { NODE_BOUNDS, POOL_BOUNDS } from '../../core/history/record';
import { withPerson, withWord } from '../../core/history/words';
import { ANNOTATION } from '../../core/names';
import type { Node } from '../../core/node/types';
import { versionOf } from '../../core/object-meta';
import type { MachineConfigPool } from '../../core/pool/types';
import { movedTo } from '../../core/rollout';
import { standingOf } from '../../core/rollout/standing';
import type { RolloutActivities, SeenVersions, Word } from '../../workflows/contracts/rollout';
import { MAX_REASON_LENGTH } from './node-changes';
import type { ClusterPorts, NodeChange, PoolChange } from './ports';
import { whileAwaited } from './still-wanted';

type WordPorts = Pick<ClusterPorts, 'nodes' | 'pools' | 'run' | 'now'> & {
  readonly view: Pick<ClusterPorts['view'], 'pools'>;
};
type Of<Kind extends Word['kind']> = Extract<Word, { readonly kind: Kind }>;

interface Said<Kind extends Word['kind']> {
  readonly word: Of<Kind>;
  /** An attempt before this one may have written it. */
  readonly isRepeated: boolean;
  /** RFC 3339: when it was said, in each attempt. */
  readonly at: string;
}

/** @throws `RefusedRequest` with a sentence when the word makes no sense now; `ObjectNotFound`, `Conflict` */
export function createWriteWord(ports: WordPorts): RolloutActivities['writeWord'] {
  return async ({ pool, word }) => {
    const run = ports.run();
    // The answer of an earlier attempt may be lost: what it has written is no nonsense.
    const said = { isRepeated: run.attempt > 1, at: new Date(run.scheduledAtMs).toISOString() };
    const seen =
      'node' in word
        ? await onNode(ports, pool, { word, ...said })
        : await onPool(ports, pool, { word, ...said });
    run.log.info('wrote what a person said', { pool, ...word });
    return seen;
  };
}

async function onPool(
  ports: WordPorts,
  name: string,
  said: Said<'start' | 'cancel' | 'pause' | 'resume'>,
): Promise<SeenVersions> {
  const refuseUnawaited = whileAwaited(ports, { pool: name });
  const pool = await ports.pools.change(name, async (known) => {
    const change = poolChange(known, said);
    if (change !== undefined) await refuseUnawaited();
    return withWord(known, POOL_BOUNDS, said, change);
  });
  return { pools: versionOf(pool) };
}

/** Undefined = it is so already. */
function poolChange(
  pool: MachineConfigPool,
  { word, isRepeated }: Said<'start' | 'cancel' | 'pause' | 'resume'>,
): PoolChange | undefined {
  const { annotations = {} } = pool.metadata;
  const target = pool.spec.configuration?.name || undefined;
  switch (word.kind) {
    case 'start': {
      const isCancelled = annotations[ANNOTATION.ROLLOUT_CANCELLED] !== undefined;
      const isStarted = annotations[ANNOTATION.ROLLOUT_STARTED] !== undefined;
      if (!isCancelled && isStarted) return undefined;
      return {
        annotations: {
          [ANNOTATION.ROLLOUT_CANCELLED]: null,
          [ANNOTATION.ROLLOUT_STARTED]: target ?? 'the first rendered config',
        },
      };
    }
    case 'cancel': {
      // Without a config there is no rollout to keep from starting again.
      if (target === undefined || annotations[ANNOTATION.ROLLOUT_CANCELLED] === target) {
        return undefined;
      }
      return {
        annotations: {
          [ANNOTATION.ROLLOUT_CANCELLED]: target,
          [ANNOTATION.ROLLOUT_STARTED]: null,
        },
      };
    }
    case 'pause': {
      const reason = withPerson(word);
      if (pool.spec.paused === true) {
        // By an attempt before this one, whose answer was lost.
        if (annotations[ANNOTATION.PAUSED_REASON] === reason) return undefined;
        throw nonsense(`pool ${pool.metadata.name} is already paused${becauseOf(pool)}`);
      }
      return { paused: true, annotations: { [ANNOTATION.PAUSED_REASON]: reason } };
    }
    case 'resume':
      if (pool.spec.paused !== true) {
        if (isRepeated) return undefined;
        throw nonsense(`pool ${pool.metadata.name} is not paused`);
      }
      return { paused: false, annotations: { [ANNOTATION.PAUSED_REASON]: null } };
  }
}

function becauseOf({ metadata: { annotations } }: MachineConfigPool): string {
  const reason = annotations?.[ANNOTATION.PAUSED_REASON];
  return reason === undefined ? '' : ` (${reason})`;
}

async function onNode(
  ports: WordPorts,
  pool: string,
  said: Said<'retryNode' | 'skipNode' | 'cancelNode'>,
): Promise<SeenVersions> {
  const { word, isRepeated } = said;
  const known = await ports.pools.change(pool, () => Promise.resolve(undefined));
  const target = known.spec.configuration?.name;
  if (!target) throw nonsense(`pool ${pool} has no rendered config yet`);
  const change = (node: Node): NodeChange | undefined => {
    refuseStranger(node, pool, ports.view.pools.list());
    const isRetry = word.kind === 'retryNode';
    const wanted = isRetry ? retried(node, target, isRepeated) : held(node, target, word);
    return withWord(node, NODE_BOUNDS, said, wanted);
  };
  const node = await ports.nodes.change(word.node, change, whileAwaited(ports, word));
  return { nodes: versionOf(node) };
}

function retried(node: Node, target: string, isRepeated: boolean): NodeChange | undefined {
  const { name, annotations = {} } = node.metadata;
  if (annotations[ANNOTATION.RETRY_FOR] === target) return undefined;
  const standing = standingOf(node, { target });
  // One that had failed before it was held has to be told, too.
  const unheld = standingOf(withoutHold(node), { target });
  const opens =
    unheld.is === 'failed' || (unheld.is === 'blocked' && unheld.opensWhenTold === true);
  const isDeferred = annotations[ANNOTATION.DRAIN_TIMED_OUT] !== undefined;
  if (standing.is !== 'held' && !opens && !isDeferred) {
    if (isRepeated && annotations[ANNOTATION.HELD_FOR] !== target) return undefined;
    const isHeld = annotations[ANNOTATION.HELD_FOR] === target;
    throw nonsense(
      isHeld
        ? `${name} is held, and is still being taken back: try again when that has ended`
        : `${name} is neither failed nor held on ${target}: ${inWords(standing)}`,
    );
  }
  return {
    annotations: {
      [ANNOTATION.HELD_FOR]: null,
      [ANNOTATION.HELD_REASON]: null,
      [ANNOTATION.DRAIN_TIMED_OUT]: null,
      ...(opens ? { [ANNOTATION.RETRY_FOR]: target } : {}),
    },
  };
}

function withoutHold({ metadata, ...node }: Node): Node {
  const annotations = { ...metadata.annotations, [ANNOTATION.HELD_FOR]: '' };
  return { ...node, metadata: { ...metadata, annotations } };
}

function inWords(standing: ReturnType<typeof standingOf>): string {
  switch (standing.is) {
    case 'updated':
      return 'it is on it';
    case 'taken':
      return 'its update is running';
    case 'blocked':
      return `it cannot be taken now: ${standing.reason}`;
    default:
      return 'it waits for its turn';
  }
}

function held(
  node: Node,
  target: string,
  word: Of<'skipNode' | 'cancelNode'>,
): NodeChange | undefined {
  const { name, annotations = {} } = node.metadata;
  const standing = standingOf(node, { target });
  const before = annotations[ANNOTATION.HELD_REASON];
  const done = word.kind === 'skipNode' ? 'skipped' : 'cancelled';
  const why = cut(`${done}: ${withPerson(word)}`, MAX_REASON_LENGTH);
  if (annotations[ANNOTATION.HELD_FOR] === target) {
    if (before === why) return undefined;
    throw nonsense(`${name} is already held${before === undefined ? '' : ` (${before})`}`);
  }
  if (standing.is === 'updated') {
    throw nonsense(`${name} has nothing to skip: it is on ${target} already`);
  }
  return {
    annotations: {
      [ANNOTATION.HELD_FOR]: target,
      [ANNOTATION.HELD_REASON]: why,
      [ANNOTATION.RETRY_FOR]: null,
    },
  };
}

function refuseStranger(node: Node, pool: string, pools: readonly MachineConfigPool[]): void {
  const owner = movedTo(node, pool, pools);
  if (owner === undefined) return;
  throw nonsense(`node ${node.metadata.name} belongs to ${owner}, not to pool ${pool}`);
}

function nonsense(message: string): Error {
  return fail('RefusedRequest', message);
}
