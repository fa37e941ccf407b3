const DNS_NAME = /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\.)*[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const IPV4 = /^\d+(\.\d+){3}$/;

/** An IPv4 or IPv6 address, without brackets. */
export function isAddress(name: string): boolean {
  if (IPV4.test(name)) return URL.canParse(`http://${name}`);
  return name.includes(':') && URL.canParse(`http://[${name}]`);
}

/** Whether a certificate can have it: a DNS name in small letters, or an address. */
export function isServerName(name: string): boolean {
  if (isAddress(name)) return true;
  return name.length <= 253 && DNS_NAME.test(name) && URL.canParse(`http://${name}`);
}

interface NameSources {
  /** Of a person. */
  readonly set: readonly string[];
  /** Where new machines look for the server by default. */
  readonly internalHost?: string | undefined;
  readonly namespace: string;
}

/** Names for which the server gets its certificate, sorted. */
export function serverNames({ set, internalHost, namespace }: NameSources): readonly string[] {
  const service = `slipway-server.${namespace}`;
  const internal = internalHost?.toLowerCase().replace(/^\[|\]$/g, '');
  const found = [...set, service, `${service}.svc`, ...(internal === undefined ? [] : [internal])];
  return [...new Set(found)].filter(isServerName).sort();
}
