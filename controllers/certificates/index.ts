export { CertificateController } from './certificate-controller';
export { TemporalCertificates } from './temporal-certificates';
