import { fail } from '../../../core/errors';
import { MACHINE_CONFIGURATION, policyInForce } from '../../../core/disruption';
import type { NodeDisruptionPolicy } from '../../../core/disruption/types';
import type { MachineConfigPool } from '../../../core/pool/types';
import { controlPlaneOf, resolvePolicy } from '../../../core/rollout';
import type { Observation } from '../../../core/rollout/picture';
import { membershipOf } from '../pool-members';
import { SilentPicture } from '../silent-picture';
import { whenSynced } from '../when-synced';
import {
  SEEN_KINDS,
  type SeenVersions,
  type StepInput,
} from '../../../workflows/contracts/rollout';
import type { StepPorts } from './ports';

const CATCH_UP_MS = 5_000;
/** A version that no cache has reached for so long is none of this cluster: its database was restored. */
const NEVER_MS = 180_000;

export interface Seen {
  /** Undefined = there is no such pool. */
  readonly pool: MachineConfigPool | undefined;
  readonly observation: Omit<Observation, 'before' | 'open' | 'closed'>;
  readonly disruptionPolicies: NodeDisruptionPolicy;
  readonly versions: SeenVersions;
}

export type SeenPool = Seen & { readonly pool: MachineConfigPool };

/** Looks at a pool in the caches, which wait until they are as new as the step has to see. */
export class Look {
  readonly #membersOf: ReturnType<typeof membershipOf>;
  readonly #picture: SilentPicture;
  /** By pool and kind: the version that was not reached last, and since when. */
  readonly #missing = new Map<string, { readonly version: number; readonly since: number }>();

  constructor(private readonly ports: StepPorts) {
    this.#membersOf = membershipOf(ports);
    this.#picture = new SilentPicture(ports);
  }

  /** @throws `WatchBehind`, `ApiUnavailable` */
  async at({ pool: name, atLeast }: StepInput): Promise<Seen> {
    const { view, now } = this.ports;
    await whenSynced(Object.values(view));
    await this.#picture.bringUpToDate();
    await this.#untilShown(name, atLeast ?? {});
    const versions = versionsOf(view);
    const pool = view.pools.get(name);
    const found = pool === undefined ? { members: [] } : this.#membersOf(pool);
    return {
      pool,
      versions,
      disruptionPolicies: policyInForce(view.machineConfigurations.get(MACHINE_CONFIGURATION))
        .policy,
      observation: {
        pool: pool ?? { metadata: { name }, spec: {} },
        policy: resolvePolicy(view.policies.get(name)?.spec),
        nodes: found.members,
        ...(found.unreadable === undefined ? {} : { unreadable: found.unreadable }),
        controlPlane: controlPlaneOf(view.nodes.list()),
        machineConfigNodes: view.machineConfigNodes.list(),
        now: new Date(now()).toISOString(),
      },
    };
  }

  /** Caches of processes are of different age; one that is behind usually catches up within moments. */
  async #untilShown(pool: string, atLeast: SeenVersions): Promise<void> {
    await Promise.all(
      SEEN_KINDS.map(async (kind) => {
        const version = atLeast[kind] ?? 0;
        const isReached = await this.ports.view[kind].reached(version, CATCH_UP_MS);
        if (isReached || this.#isNever(`${pool}/${kind}`, version)) return;
        throw fail(
          'WatchBehind',
          `the watch of ${kind} is behind: version ${version} was seen already`,
        );
      }),
    );
  }

  #isNever(what: string, version: number): boolean {
    const now = performance.now();
    const known = this.#missing.get(what);
    if (known?.version === version) return now - known.since > NEVER_MS;
    this.#missing.set(what, { version, since: now });
    return false;
  }
}

function versionsOf(view: StepPorts['view']): SeenVersions {
  return Object.fromEntries(SEEN_KINDS.map((kind) => [kind, view[kind].newest]));
}
