/**
 * The `exports` map of `ms@3.0.0-canary.1` does not reach its types, so every Temporal `Duration`
 * option would be `any`: `startToCloseTimeout: 'banana'` would compile. This shim has the one type
 * that the SDK uses.
 */
declare module 'ms' {
  type Unit =
    | 'ms'
    | 's'
    | 'm'
    | 'h'
    | 'd'
    | 'w'
    | 'y'
    | 'milliseconds'
    | 'millisecond'
    | 'seconds'
    | 'second'
    | 'minutes'
    | 'minute'
    | 'hours'
    | 'hour'
    | 'days'
    | 'day'
    | 'weeks'
    | 'week'
    | 'years'
    | 'year';
  export type StringValue = `${number}` | `${number}${Unit}` | `${number} ${Unit}`;
}
