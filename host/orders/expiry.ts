import { fail } from '../../core/errors';
import type { UpdateOrder } from '../../workflows/contracts/host';
import type { HostPorts } from '../ports';

/** @throws `OrderRefused` by the clock of this host */
export function refuseExpired(
  { now }: Pick<HostPorts, 'now'>,
  { orderId, notAfter }: UpdateOrder,
): void {
  const expired = expiredText(notAfter, now());
  if (expired !== undefined) throw fail('OrderRefused', `order ${orderId} ${expired}`);
}

/** The end of a sentence; undefined = the order is valid. */
export function expiredText(notAfter: string, now: Date): string | undefined {
  if (now.getTime() <= Date.parse(notAfter)) return undefined;
  return `expired at ${notAfter}; the clock of this host shows ${now.toISOString()}`;
}
