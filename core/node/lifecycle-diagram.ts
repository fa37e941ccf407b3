/** Draws the life of a node update from its table of transitions. */

import { isEnd, needsSlot, NodePhase, TRANSITIONS } from './lifecycle';

const PHASES: readonly NodePhase[] = Object.values(NodePhase);

/**
 * The table as a Graphviz graph, `docs/lifecycle.dot`: phases that hold a slot are filled, ends
 * have a double border, rollbacks are dashed.
 */
export function lifecycleGraph(): string {
  return [
    '// Drawn from TRANSITIONS in core/node/lifecycle.ts; a test compares.',
    'digraph lifecycle {',
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ...PHASES.map((phase) => `  ${phase}${dotAttributes(phase)};`),
    ...edges(({ from, to, back }) => `  ${from} -> ${to}${back ? ' [style=dashed]' : ''};`),
    '}',
    '',
  ].join('\n');
}

/** The same as Mermaid, which repository browsers draw inside `docs/lifecycle.md`. */
export function lifecycleMermaid(): string {
  return [
    'stateDiagram-v2',
    '  classDef slot fill:#dbe9f6',
    '  [*] --> Preparing',
    ...edges(({ from, to }) => `  ${from} --> ${to}`),
    ...PHASES.filter(needsSlot).map((phase) => `  class ${phase} slot`),
  ].join('\n');
}

interface Edge {
  readonly from: NodePhase;
  readonly to: NodePhase;
  readonly back: boolean;
}

function edges(draw: (edge: Edge) => string): readonly string[] {
  return PHASES.flatMap((from) =>
    TRANSITIONS[from].map((to) => draw({ from, to, back: leadsBack(from, to) })),
  );
}

function leadsBack(from: NodePhase, to: NodePhase): boolean {
  if (to === NodePhase.UPDATED) return false;
  return isEnd(from) || isEnd(to) || to === NodePhase.GOING_BACK;
}

function dotAttributes(phase: NodePhase): string {
  const attributes = [
    ...(isEnd(phase) ? ['peripheries=2'] : []),
    ...(needsSlot(phase) ? ['style="rounded,filled"', 'fillcolor="#dbe9f6"'] : []),
  ];
  return attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`;
}
