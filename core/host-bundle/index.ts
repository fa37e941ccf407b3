export * from './authorities';
export * from './certificates';
export * from './compose';
export * from './kubeconfig';
export * from './paths';
export * from './pull-secret';
export * from './report';
export * from './types';
