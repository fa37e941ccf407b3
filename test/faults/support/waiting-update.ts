/** Stands in for an update: waits for ever, and names a blocker when asked. */

import { condition, setHandler } from '@temporalio/workflow';
import { statusQuery, type NodeStatus } from '../../../workflows/contracts/update';

export async function waitingUpdate(blocker?: string): Promise<void> {
  setHandler(statusQuery, () => ({ ...(blocker === undefined ? {} : { blocker }) }) as NodeStatus);
  await condition(() => false);
}
