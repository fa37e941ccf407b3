/** Which run may write when Temporal's clock was set back, or its database was moved. */

import { failureName } from '../../core/errors';
import { ANNOTATION } from '../../core/names';
import { annotationOf } from '../../core/node/predicates';
import type { Node } from '../../core/node/types';
import type { NodeStep } from '../../workflows/contracts/cluster';
import type { ClusterPorts, NodeChange } from './ports';
import type { Turned } from './node-changes';

type TurnPorts = Pick<ClusterPorts, 'nodes' | 'nodeUpdates' | 'run'>;

/**
 * The mark of a later run counts, unless Temporal reports this run as the open one: then that mark
 * is from another clock or a person, and is overruled.
 *
 * @param confirm - called before each write
 * @throws `UpdateSuperseded` when another run is the open one, or none; the errors of `change` and
 *   `confirm`
 */
export async function changeInTurn<Step extends NodeStep>(
  ports: TurnPorts,
  step: Step,
  change: (known: Node, step: Turned<Step>) => NodeChange | undefined,
  confirm?: () => Promise<void>,
): Promise<Node> {
  const { node: name, run } = step;
  let against: string | undefined;
  const attempt = (turned: Turned<Step>): Promise<Node> =>
    ports.nodes.change(
      name,
      (known) => {
        against = annotationOf(known, ANNOTATION.UPDATE_RUN);
        return change(known, turned);
      },
      confirm,
    );
  try {
    return await attempt(step);
  } catch (error) {
    if (failureName(error) !== 'UpdateSuperseded') throw error;
    const outlived = against;
    if (outlived === undefined || (await ports.nodeUpdates.isClosed(name, run.id))) throw error;
    const fields = { node: name, mark: outlived };
    ports.run().log.warn('the mark on the node is not of a later update; overruling it', fields);
    return attempt({ ...step, outlived });
  }
}
