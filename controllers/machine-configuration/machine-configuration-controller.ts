/**
 * Makes the MachineConfiguration where there is none, and shows in its status which disruption
 * policies are in force, and what is wrong with its spec. `core/disruption` decides both.
 *
 * @see MCO pkg/operator/sync.go (7ff337a4), syncMachineConfiguration
 */

import type { CacheView } from '../../adapters/kube/cache';
import { MACHINE_CONFIGURATIONS } from '../../adapters/kube/resources';
import type { Log } from '../../adapters/kube/transport';
import {
  MACHINE_CONFIGURATION,
  policyStatus,
  policyStatusDiffers,
  type MachineConfiguration,
  type PolicyStatus,
} from '../../core/disruption';
import { failureName } from '../../core/errors';
import { FIELD_MANAGER } from '../../core/names';
import type { Writer } from '../fenced-writer';
import { tellFailure, WorkQueue } from '../work-queue';

/** Of its own part of the status: an apply removes what it has left out. */
const FIELD_OWNER = `${FIELD_MANAGER.CONTROLLERS}-machine-configuration`;

const COALESCING = { quietMs: 100, longestMs: 1_000 };

interface MachineConfigurationDeps {
  /** Empty in a cluster that does not know the kind. */
  readonly picture: { readonly machineConfigurations: CacheView<MachineConfiguration> };
  readonly writer: Pick<Writer, 'apply' | 'create'>;
  readonly log: Log;
  /** RFC 3339. */
  readonly now: () => string;
}

export class MachineConfigurationController {
  readonly #deps: MachineConfigurationDeps;
  readonly #queue: WorkQueue;

  constructor(deps: MachineConfigurationDeps, leading: AbortSignal) {
    this.#deps = deps;
    this.#queue = new WorkQueue(
      {
        work: (name) => this.#sync(name),
        onFailure: (failure) => {
          tellFailure(deps.log, failure, 'writing disruption policies failed; will try again');
        },
        ...COALESCING,
      },
      leading,
    );
    const changed = (): void => {
      this.#queue.add(MACHINE_CONFIGURATION);
    };
    const unsubscribe = deps.picture.machineConfigurations.subscribe(changed);
    leading.addEventListener('abort', unsubscribe);
    changed();
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async #sync(name: string): Promise<void> {
    const { picture, writer, now } = this.#deps;
    const object = picture.machineConfigurations.get(name);
    if (object === undefined) return this.#create(name);
    const status = policyStatus(object, now());
    if (!policyStatusDiffers(object, status)) return;
    const { uid } = object.metadata;
    await writer.apply(
      MACHINE_CONFIGURATIONS,
      { metadata: { name, ...(uid === undefined ? {} : { uid }) }, status },
      { manager: FIELD_OWNER, subresource: 'status' },
    );
    this.#tell(status);
  }

  async #create(name: string): Promise<void> {
    const { writer, log } = this.#deps;
    const object = { metadata: { name }, spec: { managementState: 'Managed' } };
    try {
      await writer.create(MACHINE_CONFIGURATIONS, object, FIELD_OWNER);
      log.info({ name }, 'made the MachineConfiguration');
    } catch (error) {
      const failure = failureName(error);
      // Somebody else was faster, or the cluster does not know the kind.
      if (failure !== 'Conflict' && failure !== 'ObjectNotFound') throw error;
    }
  }

  #tell({ observedGeneration: generation, conditions }: PolicyStatus): void {
    const { log } = this.#deps;
    const wrong = conditions.find(({ status }) => status === 'True');
    if (wrong === undefined) log.info({ generation }, 'disruption policies are in force');
    else log.warn({ generation, reason: wrong.message }, 'disruption policies are wrong');
  }
}
