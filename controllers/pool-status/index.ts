export { PoolStatusController } from './pool-status-controller';
export type { OwnCertificates } from './certificate-expiry';
