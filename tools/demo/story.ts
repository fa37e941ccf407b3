/** The MachineConfigs of the demo, in the order in which they are applied. */

/** Reboots every worker: kernel arguments and a file. */
export const FIRST_CONFIG = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 50-worker-tuning
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  kernelArguments:
    - nosmt
  config:
    ignition:
      version: 3.4.0
    storage:
      files:
        - path: /etc/sysctl.d/99-demo.conf
          mode: 420
          overwrite: true
          contents:
            source: data:,net.core.somaxconn%20%3D%204096%0A
`;

/** Arrives while the first still rolls: the rollout retargets. */
export const SECOND_CONFIG = `
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: 60-worker-chrony
  labels:
    machineconfiguration.openshift.io/role: worker
spec:
  config:
    ignition:
      version: 3.4.0
    storage:
      files:
        - path: /etc/chrony.conf
          mode: 420
          overwrite: true
          contents:
            source: data:,server%20time.example.com%20iburst%0A
`;
