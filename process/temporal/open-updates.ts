/** A paused workflow is open. */
export function isOpenStatus(status: string): boolean {
  return status === 'RUNNING' || status === 'PAUSED';
}
