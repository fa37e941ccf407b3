/** Search attributes of the workflows: what the Temporal UI lists and filters by. */

import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';

export const SEARCH_ATTRIBUTE = {
  pool: defineSearchAttributeKey('SlipwayPool', SearchAttributeType.KEYWORD),
  node: defineSearchAttributeKey('SlipwayNode', SearchAttributeType.KEYWORD),
  config: defineSearchAttributeKey('SlipwayConfig', SearchAttributeType.KEYWORD),
  /** updated | failed | cancelled; completed for a rollout. */
  outcome: defineSearchAttributeKey('SlipwayOutcome', SearchAttributeType.KEYWORD),
} as const;
