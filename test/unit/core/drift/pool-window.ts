import { type DriftedMember, mayRepairNow, placesIn } from '../../../../core/drift';

export interface TurnMember extends DriftedMember {
  readonly isInService: boolean;
  /** Out of service, or about to be. */
  readonly takesRoom: boolean;
}

interface TurnQuestion {
  readonly node: string;
  /** Every node of its pool, itself included. */
  readonly members: readonly TurnMember[];
  readonly maxUnavailable: number;
  readonly now: number;
}

/** Like a server that checks the whole pool for each question. */
export function mayDisturb({ node, members, maxUnavailable, now }: TurnQuestion): boolean {
  const asking = members.find(({ name }) => name === node);
  if (asking === undefined) return false;
  const { isInService } = asking;
  const othersOut = members.filter(({ name, takesRoom }) => takesRoom && name !== node).length;
  const standing = { isInService, othersOut, memberCount: members.length, maxUnavailable };
  return mayRepairNow(node, standing, now, () => placesIn(members, now));
}
