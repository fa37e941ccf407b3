/**
 * MachineConfigs outside the manifests. `none`: a pool without any is an error; `unknown`: a
 * warning. `elsewhere`: nothing is reported as missing.
 */
export type Rest = 'none' | 'unknown' | 'elsewhere';
