/** A `WatchSource` that plays a script: one answer per LIST and per WATCH, then silence. */

import type { WatchEvent, WatchOptions } from '../../../../adapters/kube/client';
import type { KubeObject } from '../../../../adapters/kube/resources';
import type { WatchSource } from '../../../../adapters/kube/watch';

export type Played = KubeObject & { readonly data?: string };

interface Script {
  /** An error is thrown; a number is the resource version of a list of `items`. */
  readonly lists: (Error | { readonly version: string; readonly items: readonly Played[] })[];
  /** Events of one watch, perhaps with an error at its end. */
  readonly watches: (WatchEvent<Played> | Error)[][];
}

export interface ScriptedSource extends WatchSource {
  /** Resource versions from which watches began. */
  readonly resumedFrom: string[];
  lists: number;
  readonly finished: Promise<void>;
}

export function scriptedSource(script: Script): ScriptedSource {
  const resumedFrom: string[] = [];
  let finish = (): void => undefined;
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const source = {
    resumedFrom,
    lists: 0,
    finished,
    list: () => {
      source.lists += 1;
      const answer = script.lists.shift();
      if (answer === undefined) return Promise.reject(new Error('one LIST too many'));
      if (answer instanceof Error) return Promise.reject(answer);
      return Promise.resolve({ items: answer.items, resourceVersion: answer.version });
    },
    watch: async function* (_resource: unknown, options: WatchOptions) {
      resumedFrom.push(options.resourceVersion);
      const events = script.watches.shift();
      if (events === undefined) {
        finish();
        await new Promise((resolve) => {
          options.signal.addEventListener('abort', resolve);
        });
        return;
      }
      for (const event of events) {
        if (event instanceof Error) throw event;
        yield event;
      }
    },
  };
  return source as unknown as ScriptedSource;
}

export function anObject(name: string, version: number, more: Partial<Played> = {}): Played {
  const { metadata, ...rest } = more;
  return {
    metadata: { name, uid: `uid-${name}`, resourceVersion: String(version), ...metadata },
    ...rest,
  };
}
