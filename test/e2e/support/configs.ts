/** MachineConfigs as a person writes them. */

export interface ConfigParts {
  readonly files?: readonly {
    readonly path: string;
    readonly source: string;
    readonly mode?: number;
    readonly compression?: 'gzip';
  }[];
  readonly units?: readonly object[];
  readonly sshKeys?: readonly string[];
  readonly kernelArguments?: readonly string[];
}

/** For every worker. Applying it again with other parts replaces them. */
export function machineConfig(name: string, parts: ConfigParts) {
  const { files = [], units = [], sshKeys = [], kernelArguments = [] } = parts;
  return {
    apiVersion: 'machineconfiguration.openshift.io/v1',
    kind: 'MachineConfig',
    metadata: { name, labels: { 'machineconfiguration.openshift.io/role': 'worker' } },
    spec: {
      kernelArguments,
      config: {
        ignition: { version: '3.4.0' },
        ...(sshKeys.length === 0
          ? {}
          : { passwd: { users: [{ name: 'core', sshAuthorizedKeys: sshKeys }] } }),
        storage: {
          files: files.map(({ path, source, mode = 0o644, compression }) => ({
            path,
            mode,
            overwrite: true,
            contents: { source, ...(compression === undefined ? {} : { compression }) },
          })),
        },
        systemd: { units },
      },
    },
  };
}

/** Adds an image that no other number has, so that the host has something to pull. */
export function withOsImage<T extends { readonly spec: object }>(config: T, serial: number) {
  const osImageURL = `registry.example.com/os@sha256:${String(serial).padStart(64, '0')}`;
  return { ...config, spec: { ...config.spec, osImageURL } };
}

export function plainFile(path: string, text: string, mode = 0o644) {
  return { path, mode, source: `data:,${encodeURIComponent(text)}` };
}

export function base64File(path: string, bytes: Buffer, mode = 0o644) {
  return {
    path,
    mode,
    source: `data:application/octet-stream;base64,${bytes.toString('base64')}`,
  };
}
