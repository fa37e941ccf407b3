import { ANNOTATION } from '../../../core/names';
import type { FakeWorld, WorldOptions } from './fake-world';
import type { TestTemporal } from './temporal';

export interface OneNode {
  readonly world: FakeWorld;
  readonly node: string;
}

export async function oneNodeOn(
  temporal: Pick<TestTemporal, 'world'>,
  options: WorldOptions = {},
): Promise<OneNode> {
  const world = await temporal.world(options);
  return { world, node: world.name(1) };
}

/** Steps that change something, without reads and status. */
export function deeds({ world, node }: OneNode): readonly string[] {
  const isOther = (step: string): boolean =>
    ['checkCordon', 'takeOutOfService', 'whyCancelled', 'showRebooting', 'showGoingBack'].includes(
      step,
    );
  return world.stepsOf(node).filter((step) => !isOther(step));
}

/** From a step on, up to another. */
export function deedsBetween(one: OneNode, from: string, to: string): readonly string[] {
  const done = deeds(one);
  return done.slice(done.indexOf(from), done.indexOf(to));
}

/** The node is in service on its old config, and nothing of the attempt is left. */
export function expectBackInService({ world, node }: OneNode): void {
  expect(world.cordoned()).toEqual([]);
  expect(world.annotation(node, ANNOTATION.CURRENT_CONFIG)).toBe('c1');
  expect(world.leftovers()).toEqual([]);
}
