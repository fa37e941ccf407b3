/**
 * What brings the host worker onto a machine that boots from a stock image: a unit that runs before the
 * kubelet, fetches an archive from the server, and installs it.
 */

export interface HostWorkerSource {
  /** `https://host:port` of the server of first configs. */
  readonly serverUrl: string;
  /** PEM: the authority of its certificate. */
  readonly authority: string;
  /** The text of `/etc/slipway/host.yaml`. */
  readonly hostSettings: string;
  /** The text of `/etc/slipway/order-keys.json`. */
  readonly orderKeys: string;
}

export interface MachineFile {
  readonly path: string;
  readonly mode: number;
  readonly text: string;
}

export const FETCH_UNIT = 'slipway-host-fetch.service';

const SETTINGS = '/etc/slipway';
const SCRIPT = `${SETTINGS}/fetch-host-worker`;
const AUTHORITY = `${SETTINGS}/server-ca.crt`;

/** Those that the host worker knows. */
const KUBELETS =
  'kubelet.service k3s.service k3s-agent.service rke2-server.service rke2-agent.service';

/** Beside the unit. */
export function stockMachineFiles(source: HostWorkerSource): readonly MachineFile[] {
  return [
    { path: SCRIPT, mode: 0o755, text: fetchScript(source.serverUrl) },
    { path: AUTHORITY, mode: 0o644, text: source.authority },
    { path: `${SETTINGS}/host.yaml`, mode: 0o644, text: source.hostSettings },
    { path: `${SETTINGS}/order-keys.json`, mode: 0o644, text: source.orderKeys },
  ];
}

export function fetchUnit(hostSettings: string): string {
  const own = /^kubeletUnit:\s*(\S+)/m.exec(hostSettings)?.[1] ?? '';
  const kubelets = `${KUBELETS} ${own}`.trim();
  return `# Runs at the first boot. The kubelet waits for it.
[Unit]
Description=Slipway: fetch the host worker
Wants=network-online.target
After=network-online.target
Before=${kubelets}
Before=crio.service containerd.service

[Service]
Type=oneshot
RemainAfterExit=yes
# It tries until it has the host worker, and the journal says what is in its way.
TimeoutStartSec=infinity
ExecStart=/bin/sh ${SCRIPT}

[Install]
RequiredBy=${kubelets}
WantedBy=multi-user.target
`;
}

/** The digest comes from the server, over TLS with the authority of the machine alone. */
function fetchScript(serverUrl: string): string {
  const url = `${serverUrl.replace(/\/+$/, '')}/host-worker`;
  return `#!/bin/sh
# Fetches the host worker of Slipway, checks its digest and installs it.
set -eu
url=${quoted(url)}
machine=$(uname -m)
state=/var/lib/slipway
download=$state/host.download

# No other authority counts: a directory without hashes has none.
get() {
  curl --fail --silent --show-error --cacert ${AUTHORITY} --capath ${SETTINGS} \\
    --connect-timeout 10 --max-time 600 --output "$download/$1" "$url/$machine.$1"
}

fetch() {
  rm -rf "$download" && mkdir -p "$download/files" && get sha256 && get tar.gz &&
    echo "$(cat "$download/sha256")  $download/tar.gz" | sha256sum --check --quiet &&
    tar -xzf "$download/tar.gz" -C "$download/files"
}

if [ -e /usr/lib/slipway/slipway-host.cjs ]; then
  echo 'slipway: the image has a host worker: nothing to fetch'
  exec systemctl disable --quiet ${FETCH_UNIT}
fi
mkdir -p -m 700 "$state"
until fetch; do
  echo "slipway: no host worker from $url/$machine.tar.gz yet; next try in 10 s" >&2
  sleep 10
done
"$download/files/install" first-boot /
rm -rf "$download"
`;
}

/** For the shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/**
 * Runs once per machine, before the network of cloud-init counts as up, so before the kubelet.
 *
 * @returns the data of a `#cloud-config`
 * @see https://cloudinit.readthedocs.io/en/latest/reference/modules.html#bootcmd
 */
export function stockCloudConfig(source: HostWorkerSource): {
  readonly bootcmd: readonly (readonly string[])[];
} {
  const unit = {
    path: `/etc/systemd/system/${FETCH_UNIT}`,
    mode: 0o644,
    text: fetchUnit(source.hostSettings),
  };
  const files = [...stockMachineFiles(source), unit].map(writeCommand).join('');
  const script = `set -eu
mkdir -p ${SETTINGS}
${files}systemctl daemon-reload
systemctl enable ${FETCH_UNIT}
systemctl start --no-block ${FETCH_UNIT}
`;
  return { bootcmd: [['cloud-init-per', 'once', 'slipway-host', 'sh', '-c', script]] };
}

const END = 'END-OF-FILE';

function writeCommand({ path, mode, text }: MachineFile): string {
  const ended = text.endsWith('\n') ? text : `${text}\n`;
  return `cat > ${path} <<'${END}'\n${ended}${END}\nchmod ${mode.toString(8)} ${path}\n`;
}
