export { templateController } from './template-controller';
