export * from './pinned-images';
export * from './report';
export * from './pool-counts';
