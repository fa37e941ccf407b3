import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../../tools/repository-root';

/** As a person writes it who wants registries in /etc/containerd/certs.d. */
export const CONTAINERD_CONFIG = `${readFileSync(
  join(repositoryRoot(), 'test/hosts/image/common/etc/containerd/config.toml'),
  'utf8',
)}
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "/etc/containerd/certs.d"
`;
