import type { KubeClient, PatchKind } from '../adapters/kube/client';
import type { KubeObject, ObjectKey, Resource } from '../adapters/kube/resources';
import type { Leadership } from './leader';

type Named = ObjectKey & { readonly name: string };

interface Applied {
  readonly [field: string]: unknown;
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    /** The object must still have this version. */
    readonly resourceVersion?: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec?: object;
  readonly status?: object;
}

/** Every reply updates the caches. */
export interface Writer {
  create<T extends KubeObject>(resource: Resource<T>, object: T, manager: string): Promise<T>;
  /** `metadata.uid` requires the same object, `resourceVersion` an unchanged one. */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    object: Applied,
    options: { readonly manager: string; readonly subresource?: string },
  ): Promise<T>;
  patch<T extends KubeObject>(
    resource: Resource<T>,
    key: Named,
    patch: object,
    options: { readonly manager: string; readonly kind?: PatchKind },
  ): Promise<T>;
  /** Succeeds when the object is gone, also when another one has its name. */
  delete(resource: Resource, object: KubeObject): Promise<void>;
}

/**
 * Sends nothing after the leadership is over, but throws the reason. Earlier requests may still
 * arrive, so every write of a controller is safe to arrive late or twice.
 */
export function fencedWriter(
  client: Pick<KubeClient, 'create' | 'apply' | 'patch' | 'delete'>,
  absorb: (resource: Resource, object: KubeObject) => void,
  leadership: Pick<Leadership, 'throwIfOver'>,
): Writer {
  const fenced = async <T extends KubeObject>(
    resource: Resource<T>,
    write: () => Promise<T>,
  ): Promise<T> => {
    leadership.throwIfOver();
    const stored = await write();
    absorb(resource, stored);
    return stored;
  };
  return {
    create: (resource, object, manager) =>
      fenced(resource, () => client.create(resource, object, { fieldManager: manager })),
    apply: (resource, object, { manager, subresource }) =>
      fenced(resource, () =>
        client.apply(resource, object, {
          fieldManager: manager,
          ...(subresource === undefined ? {} : { subresource }),
        }),
      ),
    patch: (resource, key, patch, { manager, kind }) =>
      fenced(resource, () =>
        client.patch(resource, key, patch, {
          fieldManager: manager,
          ...(kind === undefined ? {} : { kind }),
        }),
      ),
    delete: async (resource, object) => {
      leadership.throwIfOver();
      const { name, uid } = object.metadata;
      await client.delete(resource, { name }, uid === undefined ? {} : { uid });
    },
  };
}
