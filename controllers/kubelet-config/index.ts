export { kubeletConfigController } from './kubelet-config-controller';
