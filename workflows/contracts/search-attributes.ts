/** Search attributes of the workflows: what the Temporal UI lists and filters by. */

import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export const SEARCH_ATTRIBUTE = {
  pool: defineSearchAttributeKey('SlipwayPool', SearchAttributeType.KEYWORD),
  node: defineSearchAttributeKey('SlipwayNode', SearchAttributeType.KEYWORD),
  config: defineSearchAttributeKey('SlipwayConfig', SearchAttributeType.KEYWORD),
  /** Of a rollout that has ended: completed | failed (pool deleted) | cancelled. */
  outcome: defineSearchAttributeKey('SlipwayOutcome', SearchAttributeType.KEYWORD),
} as const;

export const SEARCH_ATTRIBUTE_NAMES: readonly string[] = Object.values(SEARCH_ATTRIBUTE).map(
  ({ name }) => name,
);
