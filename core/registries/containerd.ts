/** Registries for containerd: `/etc/containerd/certs.d/<host>/hosts.toml`. */

import { fail } from '../errors';
import type { FieldProblem } from '../field-problem';
import type { GeneratedFile } from '../generated-configs';
import { tomlEntry, tomlString, toToml } from '../toml';
import { planHosts, type HostPlan, type MirrorPlan } from './containerd-hosts';
import { editRegistries } from './edit-registries';
import { mirrorRefusal } from './mirror-sets';
import { scopeRefusal } from './policy-json';
import { EMPTY_CONF } from './registries-conf';
import type { ImageSpec, MirrorSets } from './types';

export const CONTAINERD_HOSTS = '/etc/containerd/certs.d';

interface ContainerdRegistries {
  /** One per host, in the order of their names; read only if `config_path` names their folder. */
  readonly files: readonly GeneratedFile[];
  /** Every wish that the files do not keep, or keep only in part. */
  readonly problems: readonly FieldProblem[];
}

/**
 * The files that make containerd pull like CRI-O, as far as it can.
 *
 * @throws `InvalidMachineConfig` in MCO's words for what MCO refuses
 * @see containerd core/remotes/docker/config/hosts.go (v2.4.2), parseHostsFile
 */
export function containerdRegistries(image: ImageSpec, mirrors: MirrorSets): ContainerdRegistries {
  const {
    insecureRegistries: insecure = [],
    blockedRegistries: blocked = [],
    allowedRegistries: allowed = [],
    containerRuntimeSearchRegistries: search = [],
  } = image.registrySources ?? {};
  const refusal =
    scopeRefusal('insecure', insecure) ??
    scopeRefusal('blocked', blocked) ??
    scopeRefusal('allowed', allowed) ??
    mirrorRefusal(mirrors);
  if (refusal !== undefined) throw fail('InvalidMachineConfig', refusal);
  const conf = editRegistries(EMPTY_CONF, { insecure, blocked, mirrors });
  const { plans, problems } = planHosts({ conf, blocked, allowed, search });
  return { files: withFile(plans).map(hostsFile), problems };
}

/** A host that is asked as ever needs a file only next to `_default`. */
function withFile(plans: readonly HostPlan[]): readonly HostPlan[] {
  if (plans.some(({ host }) => host === '')) return plans;
  return plans.filter(
    ({ isAsked, insecure, mirrors }) => !isAsked || insecure || mirrors.length > 0,
  );
}

/** Before containerd 2, a file without this table is refused, and the registry asked as ever. */
const NO_MIRROR = '[host]\n';

function hostsFile(plan: HostPlan): GeneratedFile {
  const folder = plan.host === '' ? '_default' : plan.host;
  const mirrors = plan.mirrors.length === 0 ? [NO_MIRROR] : plan.mirrors.map(mirrorText);
  const contents = [serverText(plan), ...mirrors].join('\n');
  return { path: `${CONTAINERD_HOSTS}/${folder}/hosts.toml`, contents };
}

/**
 * The server is asked last. One that must not be asked keeps the capability to push: a file without a
 * server, or with an empty list of capabilities, means the host with all of them.
 */
function serverText({ host, isAsked, insecure }: HostPlan): string {
  return toToml([
    ...tomlEntry('server', `${scheme(insecure)}://${serverOf(host)}`),
    ...tomlEntry('capabilities', isAsked ? undefined : ['push']),
    ...tomlEntry('skip_verify', insecure ? true : undefined),
  ]);
}

function serverOf(host: string): string {
  // Nothing is ever sent to the server of all other hosts.
  if (host === '') return 'blocked.invalid';
  return host === 'docker.io' ? 'registry-1.docker.io' : host;
}

function mirrorText({ location, insecure, tags }: MirrorPlan): string {
  const slash = location.indexOf('/');
  const host = slash === -1 ? location : location.slice(0, slash);
  const path = slash === -1 ? '' : `/v2${location.slice(slash)}`;
  const url = `${scheme(insecure)}://${serverOf(host)}${path}`;
  const entries = toToml([
    // A tag is looked up only where both are allowed.
    ...tomlEntry('capabilities', tags ? ['pull', 'resolve'] : ['pull']),
    ...tomlEntry('skip_verify', insecure ? true : undefined),
    ...tomlEntry('override_path', path === '' ? undefined : true),
  ]);
  return `[host.${tomlString(url)}]\n${entries.replace(/^(?=.)/gm, '  ')}`;
}

/** With `skip_verify`, containerd tries HTTPS first although the scheme is HTTP. */
function scheme(insecure: boolean): string {
  return insecure ? 'http' : 'https';
}
