/** Files that containers/image reads: where images come from, and which of them are accepted. */

export const REGISTRIES_CONF = '/etc/containers/registries.conf';
export const POLICY_JSON = '/etc/containers/policy.json';
