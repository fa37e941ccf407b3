export * from './pinned-images';
export * from './report';
