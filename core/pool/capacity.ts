/** How many nodes of a pool may be unavailable at once. */

import { goQuote } from '../encoding/go-quote';
import { fail, failureName, messageOf } from '../errors';
import type { MachineConfigPool } from './types';

/** The pool of arbiter nodes, which MCO always rolls one by one. */
const ARBITER_POOL = 'arbiter';

/** Go's `int` on 64-bit machines. */
const INT64_LIMIT = 2n ** 63n;

/**
 * maxUnavailable as a number of nodes, exactly as in MCO: absent and 0 are 1, a percentage is
 * rounded down and may exceed 100 %, a negative integer stays negative (so that nothing ever
 * rolls). Slipway rolls by the stricter `checkMaxUnavailable`.
 *
 * @param machineCount - nodes whose primary pool is this one
 * @throws `InvalidPool` for a string that is not `<integer>%`, in MCO's words
 * @see MCO pkg/controller/node/node_controller.go, maxUnavailable (7ff337a4)
 */
export function maxUnavailable(pool: MachineConfigPool, machineCount: number): number {
  if (pool.metadata.name === ARBITER_POOL) return 1;
  const setting = pool.spec.maxUnavailable;
  if (setting === undefined) return 1;
  const scaled =
    typeof setting === 'number' ? setting : Math.floor((percentOf(setting) * machineCount) / 100);
  return scaled === 0 ? 1 : scaled;
}

/** Go's strconv.Atoi on the text before the percent sign, with its errors. */
function percentOf(setting: string): number {
  if (!setting.endsWith('%')) {
    throw invalidIntOrString('invalid type: string is not a percentage');
  }
  const digits = setting.slice(0, -1);
  if (!/^[+-]?[0-9]+$/.test(digits)) {
    throw invalidIntOrString(
      `invalid value ${goQuote(setting)}: strconv.Atoi: parsing ${goQuote(digits)}: invalid syntax`,
    );
  }
  const value = BigInt(digits.replace(/^\+/, ''));
  if (value >= INT64_LIMIT || value < -INT64_LIMIT) {
    throw invalidIntOrString(
      `invalid value ${goQuote(setting)}: strconv.Atoi: parsing ${goQuote(digits)}: value out of range`,
    );
  }
  return Number(value);
}

function invalidIntOrString(cause: string): Error {
  return fail('InvalidPool', `maxUnavailable: invalid value for IntOrString: ${cause}`);
}

/**
 * Refuses a maxUnavailable with which the pool could never roll, or which nobody can mean: 0,
 * negative, a fraction, `0%`, more than `100%`, any other string. MCO admits them and stalls.
 *
 * @throws `InvalidPool` that names the pool, the field, the value and the fix
 */
export function checkMaxUnavailable(pool: MachineConfigPool): void {
  const setting = pool.spec.maxUnavailable;
  if (setting === undefined) return;
  const problem = problemWith(setting);
  if (problem === undefined) return;
  throw fail(
    'InvalidPool',
    `machineconfigpool ${pool.metadata.name}: spec.maxUnavailable is ${JSON.stringify(setting)}, ` +
      `${problem}; set an integer of at least 1, or a percentage from "1%" to "100%"`,
    { pool: pool.metadata.name, field: 'spec.maxUnavailable' },
  );
}

function problemWith(setting: number | string): string | undefined {
  if (typeof setting === 'number') {
    if (!Number.isInteger(setting)) return 'which is not a whole number';
    return setting >= 1 ? undefined : 'so that no node could ever be updated';
  }
  const digits = /^([0-9]+)%$/.exec(setting)?.[1];
  if (digits === undefined) return 'which is neither an integer nor a percentage';
  const percent = Number(digits);
  if (percent === 0) return 'so that no node could ever be updated';
  return percent <= 100 ? undefined : 'which is more than the whole pool';
}

/**
 * Slots of a pool: at least 1, at most all its nodes.
 *
 * @throws `InvalidPool` as `checkMaxUnavailable`
 */
export function slotCount(pool: MachineConfigPool, machineCount: number): number {
  checkMaxUnavailable(pool);
  return Math.max(1, Math.min(maxUnavailable(pool, machineCount), machineCount));
}

/** The slots, or none and the reason for an impossible maxUnavailable. */
export function slotsOrNone(
  pool: MachineConfigPool,
  machineCount: number,
): { readonly maxUnavailable: number; readonly invalid?: string } {
  try {
    return { maxUnavailable: slotCount(pool, machineCount) };
  } catch (error) {
    if (failureName(error) !== 'InvalidPool') throw error;
    return { maxUnavailable: 0, invalid: messageOf(error) };
  }
}
