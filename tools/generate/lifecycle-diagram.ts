import { isEnd, needsGrant, NodePhase, TRANSITIONS } from '../../core/node/lifecycle';

const PHASES: readonly NodePhase[] = Object.values(NodePhase);

/**
 * `docs/lifecycle.dot`, for Graphviz: phases with a grant are filled, ends have a double
 * border, rollbacks are dashed.
 */
export function lifecycleGraph(): string {
  return [
    '// Drawn from TRANSITIONS in core/node/lifecycle.ts; a test compares.',
    'digraph lifecycle {',
    '  rankdir=LR;',
    '  node [shape=box, style=rounded, fontname="Helvetica"];',
    ...PHASES.map((phase) => `  ${phase}${dotAttributes(phase)};`),
    ...PHASES.flatMap((from) => TRANSITIONS[from].map((to) => edge(from, to))),
    '}',
    '',
  ].join('\n');
}

function edge(from: NodePhase, to: NodePhase): string {
  return `  ${from} -> ${to}${leadsBack(from, to) ? ' [style=dashed]' : ''};`;
}

function leadsBack(from: NodePhase, to: NodePhase): boolean {
  if (to === NodePhase.UPDATED) return false;
  return isEnd(from) || isEnd(to) || to === NodePhase.GOING_BACK;
}

function dotAttributes(phase: NodePhase): string {
  const attributes = [
    ...(isEnd(phase) ? ['peripheries=2'] : []),
    ...(needsGrant(phase) ? ['style="rounded,filled"', 'fillcolor="#dbe9f6"'] : []),
  ];
  return attributes.length === 0 ? '' : ` [${attributes.join(', ')}]`;
}
