export * from './order-keys';
export * from './shown';
export * from './signed-text';
