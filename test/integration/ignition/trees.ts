/** Compares trees of machines, without the own records of the program that wrote each. */

/** Own records of the two programs, which no config contains. */
const RECORDS = [
  // The host worker: its current config, before-images, journal.
  /^\/etc\/machine-config-daemon(\/|$)/,
  /^\/var\/lib\/slipway(\/|$)/,
  // Ignition: that it has run.
  /^\/etc\/\.ignition-result\.json$/,
  // The shadow tools, which Ignition uses: their lock and backups.
  /^\/etc\/(\.pwd\.lock|(passwd|group|shadow|gshadow)-)$/,
];

export const PRESETS = '/etc/systemd/system-preset/20-ignition.preset';
/** Presets of the first boot; the host worker makes the links at once. */
const FIRST_BOOT = ['/etc/systemd/system-preset', PRESETS];

export function differences(left: ReadonlyMap<string, string>, right: ReadonlyMap<string, string>) {
  const paths = [...new Set([...left.keys(), ...right.keys()])]
    .filter((path) => !RECORDS.some((record) => record.test(path)) && !FIRST_BOOT.includes(path))
    .sort();
  return paths
    .filter((path) => left.get(path) !== right.get(path))
    .map((path) => ({ path, ignition: left.get(path), hostWorker: right.get(path) }));
}
