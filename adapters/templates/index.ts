export { readTemplateFolder, shippedTemplates, WatchedTemplates } from './folder';
export { fillTemplate } from './liquid';
