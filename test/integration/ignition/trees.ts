/** Trees of machines, compared: what each of two writers keeps of itself is left out. */

/** What the two keep of themselves; no config speaks of it. */
const RECORDS = [
  // The host worker: its current config, what was there before, its journal.
  /^\/etc\/machine-config-daemon(\/|$)/,
  /^\/var\/lib\/slipway(\/|$)/,
  // Ignition: that it has run.
  /^\/etc\/\.ignition-result\.json$/,
  // The shadow tools, which Ignition uses: their lock and the files as they were before.
  /^\/etc\/(\.pwd\.lock|(passwd|group|shadow|gshadow)-)$/,
];

export const PRESETS = '/etc/systemd/system-preset/20-ignition.preset';
/** The wishes of the first boot, which the host worker turns into links at once. */
const FIRST_BOOT = ['/etc/systemd/system-preset', PRESETS];

/** Paths that differ, with what each has. */
export function differences(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>) {
  const paths = [...new Set([...left.keys(), ...right.keys()])]
    .filter((path) => !RECORDS.some((record) => record.test(path)) && !FIRST_BOOT.includes(path))
    .sort();
  return paths
    .filter((path) => left.get(path) !== right.get(path))
    .map((path) => ({ path, ignition: left.get(path), hostWorker: right.get(path) }));
}
