/** An order of names that respects as many wishes as possible. */

interface Node {
  readonly name: string;
  readonly before: Set<Node>;
  readonly after: Set<Node>;
  used: boolean;
}

/**
 * All names of the pairs, each first name before its second one. Where the pairs contradict each
 * other, the first unused name in code order comes next. The order depends on the set of pairs only.
 *
 * @see openshift/runtime-utils pkg/registries/topo.go, Sorted
 */
export function topologicalOrder(pairs: readonly (readonly [string, string])[]): readonly string[] {
  const nodes = nodesOf(pairs);
  const sorted = [...nodes.values()].sort(byName);
  const ready = sorted.filter(({ before }) => before.size === 0);
  const order: string[] = [];
  for (;;) {
    const node = ready.shift() ?? sorted.find(({ used }) => !used);
    if (node === undefined) return order;
    node.used = true;
    order.push(node.name);
    ready.push(...released(node));
  }
}

function nodesOf(pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, Node> {
  const nodes = new Map<string, Node>();
  const nodeOf = (name: string): Node => {
    const node = nodes.get(name) ?? { name, before: new Set(), after: new Set(), used: false };
    nodes.set(name, node);
    return node;
  };
  for (const [first, second] of pairs) {
    const [from, to] = [nodeOf(first), nodeOf(second)];
    from.after.add(to);
    to.before.add(from);
  }
  return nodes;
}

/** The names that have nothing before them any more. */
function released(node: Node): readonly Node[] {
  const free = [...node.after].filter((next) => {
    next.before.delete(node);
    return next.before.size === 0 && !next.used;
  });
  return free.sort(byName);
}

function byName(a: Node, b: Node): number {
  return a.name < b.name ? -1 : 1;
}
