export { CertificateController } from './certificate-controller';
