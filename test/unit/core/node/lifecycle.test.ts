import { readFileSync } from 'node:fs';
import path from 'node:path';

import {
  isEnd,
  mayFollow,
  needsSlot,
  NodePhase,
  TRANSITIONS,
} from '../../../../core/node/lifecycle';
import { lifecycleGraph, lifecycleMermaid } from '../../../../core/node/lifecycle-diagram';

const PHASES: readonly NodePhase[] = Object.values(NodePhase);
const docs = (name: string) => readFileSync(path.join(__dirname, '../../../../docs', name), 'utf8');

function reachableFrom(start: NodePhase): ReadonlySet<NodePhase> {
  const seen = new Set<NodePhase>([start]);
  for (const phase of seen) for (const next of TRANSITIONS[phase]) seen.add(next);
  return seen;
}

describe('the life of a node update', () => {
  it.each(PHASES)('%s can still end as Updated', (phase) => {
    expect(reachableFrom(phase)).toContain(NodePhase.UPDATED);
  });

  it('reaches every phase from Preparing', () => {
    expect([...reachableFrom(NodePhase.PREPARING)].sort()).toEqual([...PHASES].sort());
  });

  it('never ends as failed or cancelled from a disturbed node without going back first', () => {
    const disturbed = PHASES.filter((phase) => needsSlot(phase) && phase !== 'GoingBack');

    for (const phase of disturbed) {
      expect([phase, mayFollow(phase, 'Degraded')]).toEqual([phase, false]);
      expect([phase, mayFollow(phase, 'Cancelled')]).toEqual([phase, false]);
    }
  });

  it('disturbs no node that was not prepared and given a slot', () => {
    const entries = PHASES.filter(
      (phase) => !needsSlot(phase) && TRANSITIONS[phase].some((next) => needsSlot(next)),
    );

    // Completing only records what is true already, so a node on its config may skip the queue.
    expect(entries).toEqual(['Preparing', 'WaitingForSlot']);
    expect(TRANSITIONS.Preparing.filter(needsSlot)).toEqual(['Completing']);
  });

  it('begins again with Preparing after every end', () => {
    for (const end of PHASES.filter(isEnd)) expect(TRANSITIONS[end]).toEqual(['Preparing']);
  });

  it('is drawn in docs/lifecycle.dot', () => {
    expect(docs('lifecycle.dot')).toBe(lifecycleGraph());
  });

  it('is drawn in docs/lifecycle.md', () => {
    expect(docs('lifecycle.md')).toContain(`\`\`\`mermaid\n${lifecycleMermaid()}\n\`\`\``);
  });
});
