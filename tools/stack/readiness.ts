import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../cluster';

interface PoolObject {
  readonly spec: { readonly configuration?: { readonly name?: string } };
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message: string;
    }[];
  };
}

const POOLS = '/apis/machineconfiguration.openshift.io/v1/machineconfigpools';

/** Of the first render, on a busy machine. */
const RENDER_TIMEOUT_MS = 60_000;

/**
 * Waits for the first one.
 *
 * @throws Error with the pool's RenderDegraded message on timeout
 */
export async function renderedConfigOf(api: ApiClient, pool: string): Promise<string> {
  const deadline = performance.now() + RENDER_TIMEOUT_MS;
  for (;;) {
    const object = await api.call<PoolObject>('GET', `${POOLS}/${pool}`);
    const name = object.spec.configuration?.name;
    if (name !== undefined && name !== '') return name;
    if (performance.now() > deadline) {
      const degraded = object.status?.conditions?.find(
        ({ type, status }) => type === 'RenderDegraded' && status === 'True',
      );
      throw new Error(
        `pool ${pool} has no rendered config: ${degraded?.message ?? 'no reason given'}`,
      );
    }
    await delay(100);
  }
}
