/** Which names of fields, flags, settings and variables stand for secrets. */

const SECRET =
  /password|passwd|passphrase|secret|token|apikey|privatekey|accesskey|clientkey|sshkey|authorizedkey|credential|authorization|kubeconfig|sharedkey|dockercfg|dockerconfigjson/;
const WHOLE = new Set(['auth', 'authtoken', 'psk', 'pwd', 'pass', 'tlskey', 'keydata', 'bearer']);
/** Where a secret is, or what is known of it. */
const ABOUT =
  /(?:file|files|path|dir|directory|name|names|namespace|ref|id|uid|url|uri|type|kind|count|seconds|version|policy|review|reviews|mode|at)$/;

/** `TEMPORAL_API_KEY` and `--temporal-api-key`, but not `--temporal-api-key-file`. */
export function isSecretName(name: string): boolean {
  const plain = name.toLowerCase().replace(/[^a-z0-9]/g, '');
  return WHOLE.has(plain) || (SECRET.test(plain) && !ABOUT.test(plain));
}
