/** A stand-in for the update of a node: it waits for ever, and says for what if it is told to. */

import { condition, setHandler } from '@temporalio/workflow';
import { statusQuery, type NodeStatus } from '../../../workflows/messages';

export async function waitingUpdate(blocker?: string): Promise<void> {
  setHandler(statusQuery, () => ({ ...(blocker === undefined ? {} : { blocker }) }) as NodeStatus);
  await condition(() => false);
}
