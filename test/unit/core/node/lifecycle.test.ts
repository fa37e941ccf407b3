import { readFileSync } from 'node:fs';
import path from 'node:path';

import {
  isEnd,
  mayFollow,
  needsGrant,
  NodePhase,
  TRANSITIONS,
} from '../../../../core/node/lifecycle';
import { forbiddenStep } from '../../../support/forbidden-step';

const PHASES: readonly NodePhase[] = Object.values(NodePhase);
/** Phases of a node that stays. */
const STAYING = PHASES.filter((phase) => phase !== NodePhase.GONE);
const docs = (name: string) => readFileSync(path.join(__dirname, '../../../../docs', name), 'utf8');

function reachableFrom(start: NodePhase): ReadonlySet<NodePhase> {
  const seen = new Set<NodePhase>([start]);
  for (const phase of seen) for (const next of TRANSITIONS[phase]) seen.add(next);
  return seen;
}

describe('the life of a node update', () => {
  it.each(STAYING)('%s can still end as Updated', (phase) => {
    expect(reachableFrom(phase)).toContain(NodePhase.UPDATED);
  });

  it('reaches every phase from Preparing', () => {
    expect([...reachableFrom(NodePhase.PREPARING)].sort()).toEqual([...STAYING].sort());
  });

  it('is over from one moment to the next when the node is deleted', () => {
    const open = PHASES.filter((phase) => mayFollow(phase, 'Gone'));

    expect(open).toEqual(PHASES.filter((phase) => !isEnd(phase)));
    // A node that returns under this name is another one.
    expect(TRANSITIONS.Gone).toEqual([]);
  });

  it('never ends as failed or cancelled from a disturbed node without going back first', () => {
    // A node in Completing has committed: no rollback is possible.
    const disturbed = PHASES.filter(
      (phase) => needsGrant(phase) && phase !== 'GoingBack' && phase !== 'Completing',
    );

    for (const phase of disturbed) {
      expect([phase, mayFollow(phase, 'Degraded')]).toEqual([phase, false]);
      expect([phase, mayFollow(phase, 'Cancelled')]).toEqual([phase, false]);
    }
  });

  it('disturbs no node that was not prepared and given a grant', () => {
    const entries = PHASES.filter(
      (phase) => !needsGrant(phase) && TRANSITIONS[phase].some((next) => needsGrant(next)),
    );

    // Completing only records facts, so a node on its config may skip the queue.
    expect(entries).toEqual(['Preparing', 'WaitingForGrant']);
    expect(TRANSITIONS.Preparing.filter(needsGrant)).toEqual(['Completing']);
  });

  it('is never called off once its host is to commit, which is rolled back only when it has not', () => {
    expect(mayFollow('Completing', 'Cancelled')).toBe(false);
    expect(mayFollow('Completing', 'GoingBack')).toBe(true);
    expect(mayFollow('GoingBack', 'Completing')).toBe(true);
    expect(mayFollow('GoingBack', 'Updated')).toBe(false);
  });

  it.each<[readonly NodePhase[], string | undefined]>([
    [[], undefined],
    [['Preparing', 'WaitingForGrant', 'Draining', 'Applying'], undefined],
    [['Rebooting', 'Rebooting', 'Verifying'], undefined],
    [['Preparing', 'Draining'], 'Preparing -> Draining'],
    [['Applying', 'Rebooting', 'Verifying', 'Degraded'], 'Verifying -> Degraded'],
  ])('of %j forbids %s', (phases, step) => {
    expect(forbiddenStep(phases)).toBe(step);
  });

  it('begins again with Preparing after every end', () => {
    for (const end of STAYING.filter(isEnd)) expect(TRANSITIONS[end]).toEqual(['Preparing']);
  });

  it('is drawn in docs/lifecycle.md', () => {
    const diagram = [
      'stateDiagram-v2',
      '  classDef grant fill:#dbe9f6',
      '  [*] --> Preparing',
      ...PHASES.flatMap((from) => TRANSITIONS[from].map((to) => `  ${from} --> ${to}`)),
      ...PHASES.filter(needsGrant).map((phase) => `  class ${phase} grant`),
    ];
    expect(docs('lifecycle.md')).toContain(['```mermaid', ...diagram, '```'].join('\n'));
  });
});
