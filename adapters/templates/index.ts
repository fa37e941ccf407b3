export { readTemplateFolder, WatchedTemplates } from './folder';
export { fillTemplate } from './liquid';
