/**
 * `ms@3.0.0-canary.1` ships types that its `exports` map does not reach, which silently turns every
 * Temporal `Duration` option into `any`: `startToCloseTimeout: 'banana'` would compile. This shim
 * gives the one type that the SDK uses.
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
