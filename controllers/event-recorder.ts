import { apiVersionOf, NODES, type KubeObject, type Resource } from '../adapters/kube/resources';
import type { Log } from '../adapters/kube/transport';
import type { EventWriter } from '../adapters/kube/events';
import { messageOf } from '../core/errors';

type EventType = 'Normal' | 'Warning';

export interface EventRecorder {
  /**
   * Repetitions of a message are dropped until another one with the same reason comes. A lost Event
   * fails no work.
   */
  record(subject: Subject, type: EventType, reason: string, message: string): void;
  /** The cause is gone: if it comes back, its message is recorded again. */
  over(subject: Subject, reason: string): void;
}

export interface Subject {
  readonly resource: Resource;
  readonly object: KubeObject;
}

/** @param leading - records nothing after it has aborted */
export function createEventRecorder(
  writer: Pick<EventWriter, 'on'>,
  leading: AbortSignal,
  log: Log,
): EventRecorder {
  const told = new Map<string, string>();
  return {
    record: ({ resource, object }, type, reason, message) => {
      const { name, namespace, uid = '' } = object.metadata;
      const topic = topicOf({ resource, object }, reason);
      if (leading.aborted || told.get(topic) === message) return;
      told.set(topic, message);
      const { kind, group } = resource;
      // `kubectl describe node` looks for the name in uid.
      const identity = kind === NODES.kind && group === NODES.group ? name : uid;
      const about = {
        ...{ apiVersion: apiVersionOf(resource), kind, name, uid: identity },
        ...(namespace === undefined ? {} : { namespace }),
      };
      writer.on(about, { type, reason, message }).catch((error: unknown) => {
        told.delete(topic);
        log.debug({ reason, cause: messageOf(error) }, 'did not record an event');
      });
    },
    over: (subject, reason) => void told.delete(topicOf(subject, reason)),
  };
}

function topicOf({ resource, object }: Subject, reason: string): string {
  const { name, uid = '' } = object.metadata;
  return `${resource.kind}/${name}/${uid}/${reason}`;
}
