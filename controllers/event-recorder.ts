/** Kubernetes Events about pools: what `kubectl describe mcp` and `kubectl get events` show. */

import { apiVersionOf, type KubeObject, type Resource } from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import type { EventWriter } from '../adapters/kube/writers';
import { messageOf } from '../core/errors';

export type EventType = 'Normal' | 'Warning';

export interface EventRecorder {
  /**
   * Tells something about an object. The same sentence for the same reason is told once until
   * another one comes. Losing an Event never fails the work that it is about.
   */
  record(subject: Subject, type: EventType, reason: string, message: string): void;
}

export interface Subject {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** @param leading - nothing is told after it has aborted */
export function createEventRecorder(
  writer: Pick<EventWriter, 'on'>,
  leading: AbortSignal,
  log: Log,
): EventRecorder {
  const told = new Map<string, string>();
  return {
    record: ({ resource, object }, type, reason, message) => {
      const { name, uid = '' } = object.metadata;
      const topic = `${resource.kind}/${name}/${uid}/${reason}`;
      if (leading.aborted || told.get(topic) === message) return;
      told.set(topic, message);
      const about = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid };
      writer.on(about, { type, reason, message }).catch((error: unknown) => {
        told.delete(topic);
        log.debug({ reason, cause: messageOf(error) }, 'did not record an event');
      });
    },
  };
}
