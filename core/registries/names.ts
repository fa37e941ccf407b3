/** Names of the MachineConfigs with registries. */

/** One per pool. */
export function registriesConfigName(pool: string): string {
  return `99-${pool}-generated-registries`;
}

/** The name that MCO gave before, which has the pool's UID. */
export function legacyRegistriesConfigName(pool: {
  readonly name: string;
  readonly uid: string;
}): string {
  return `99-${pool.name}-${pool.uid}-registries`;
}
