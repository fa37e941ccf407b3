/** Settings of a person's shell are for another Slipway: spread over the environment, this takes them away. */
export function withoutSettings(): Readonly<Record<string, undefined>> {
  const names = Object.keys(process.env).filter((name) => /^(TEMPORAL|SLIPWAY)_/.test(name));
  return Object.fromEntries(names.map((name) => [name, undefined]));
}
