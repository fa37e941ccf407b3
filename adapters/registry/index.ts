export { RegistryClient } from './client';
export { fileInImage } from './image-file';
