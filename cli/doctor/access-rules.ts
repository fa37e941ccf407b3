/** What each process must be allowed to do: the rules of deploy/rbac, as `kubectl auth can-i` names them. */

/** One question to the API server. */
export interface ServerAccess {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** `verbs resource[.group][/subresource] [name] [-n namespace]` */
export const RULES = {
  'slipway-controllers': [
    'get,list,watch,patch nodes',
    'get,list,watch,create,update,patch,delete machineconfigs.machineconfiguration.openshift.io',
    'get,list,watch,update,patch machineconfigpools.machineconfiguration.openshift.io',
    'get,update,patch machineconfigpools.machineconfiguration.openshift.io/status',
    'update machineconfigpools.machineconfiguration.openshift.io/finalizers',
    'get,list,watch,create,patch,delete machineconfignodes.machineconfiguration.openshift.io',
    'patch machineconfignodes.machineconfiguration.openshift.io/status',
    'get,list,watch controllerconfigs.machineconfiguration.openshift.io',
    'get,list,watch osimagestreams.machineconfiguration.openshift.io',
    'get,list,watch pinnedimagesets.machineconfiguration.openshift.io',
    'get,update,patch controllerconfigs.machineconfiguration.openshift.io/status',
    'update controllerconfigs.machineconfiguration.openshift.io/finalizers',
    'get,list,watch,patch kubeletconfigs.machineconfiguration.openshift.io',
    'patch kubeletconfigs.machineconfiguration.openshift.io/status',
    'update kubeletconfigs.machineconfiguration.openshift.io/finalizers',
    'get,list,watch,patch containerruntimeconfigs.machineconfiguration.openshift.io',
    'patch containerruntimeconfigs.machineconfiguration.openshift.io/status',
    'update containerruntimeconfigs.machineconfiguration.openshift.io/finalizers',
    'get,list,watch apiservers.config.openshift.io',
    'get,list,watch featuregates.config.openshift.io',
    'get,list,watch images.config.openshift.io',
    'get,list,watch clusterimagepolicies.config.openshift.io',
    'get,list,watch imagedigestmirrorsets.config.openshift.io',
    'get,list,watch imagepolicies.config.openshift.io',
    'patch imagepolicies.config.openshift.io/status',
    'get,list,watch imagetagmirrorsets.config.openshift.io',
    'get,list,watch imagecontentsourcepolicies.operator.openshift.io',
    'get,list,watch nodes.config.openshift.io',
    'get,list,watch rolloutpolicies.slipway.dev',
    'get,list,watch,create machineconfigurations.operator.openshift.io',
    'patch machineconfigurations.operator.openshift.io/status',
    'create slipways.slipway.dev',
    'get,list,watch,patch slipways.slipway.dev cluster',
    'patch slipways.slipway.dev/status cluster',
    'create clusteroperators.config.openshift.io',
    'get,list,watch,patch clusteroperators.config.openshift.io slipway',
    'patch clusteroperators.config.openshift.io/status slipway',
    'get clusteroperators.config.openshift.io machine-config',
    'get deployments.apps machine-config-operator',
    'get deployments.apps machine-config-controller',
    'create leases.coordination.k8s.io -n slipway',
    'get,update,patch leases.coordination.k8s.io slipway-controllers -n slipway',
    'list,watch pods -n slipway',
    'create secrets -n slipway',
    'get,list,watch,patch secrets slipway-server-ca -n slipway',
    'get,list,watch,patch secrets slipway-server-tls -n slipway',
    'get,list,watch,patch secrets slipway-temporal-ca -n slipway',
    'get,list,watch,patch secrets slipway-temporal-tls -n slipway',
    'get secrets slipway-payload-keys -n slipway',
    'create configmaps -n slipway',
    'get,list,watch,patch configmaps slipway-server-ca -n slipway',
    'get,list,watch,patch configmaps slipway-client-ca -n slipway',
    'create events -n slipway',
    'get,list,watch configmaps extension-apiserver-authentication -n kube-system',
    'create,patch events -n default',
  ],
  'slipway-cluster-worker': [
    'get,list,watch,patch nodes',
    'list,watch pods',
    'create pods/eviction',
    'list,watch poddisruptionbudgets.policy',
    'list,watch daemonsets.apps',
    'get machineconfigs.machineconfiguration.openshift.io',
    'get,list,watch,patch machineconfigpools.machineconfiguration.openshift.io',
    'get,list,watch,create,patch machineconfignodes.machineconfiguration.openshift.io',
    'patch machineconfignodes.machineconfiguration.openshift.io/status',
    'list,watch rolloutpolicies.slipway.dev',
    'get,list,watch,create,delete poolrollouts.slipway.dev',
    'update poolrollouts.slipway.dev/status',
    'list,watch machineconfigurations.operator.openshift.io',
    'get clusteroperators.config.openshift.io machine-config',
    'get deployments.apps machine-config-operator',
    'get deployments.apps machine-config-controller',
    'create secrets -n slipway',
    'get,list,watch,patch secrets slipway-order-key -n slipway',
    'create configmaps -n slipway',
    'get,patch configmaps slipway-order-keys -n slipway',
    'create,patch events -n default',
  ],
  'slipway-server': [
    'get,list,watch nodes',
    'list,watch machineconfigpools.machineconfiguration.openshift.io',
    'list,watch machineconfignodes.machineconfiguration.openshift.io',
    'list,watch controllerconfigs.machineconfiguration.openshift.io',
    'list,watch pinnedimagesets.machineconfiguration.openshift.io',
    'get machineconfigpools.machineconfiguration.openshift.io',
    'get machineconfigs.machineconfiguration.openshift.io',
    'patch machineconfignodes.machineconfiguration.openshift.io/status',
    'list,watch rolloutpolicies.slipway.dev',
    'list,watch poolrollouts.slipway.dev',
    'list,watch machineconfigurations.operator.openshift.io',
    'create tokenreviews.authentication.k8s.io',
    'create subjectaccessreviews.authorization.k8s.io',
    'list,watch,patch secrets -n slipway-join',
    'list,watch secrets pull-secret -n slipway',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export type ProcessName = keyof typeof RULES;
export const PROCESS_NAMES = Object.keys(RULES) as readonly ProcessName[];

/** One question for each verb of a rule. */
export function accessOf(rule: string): readonly ServerAccess[] {
  const [question = '', namespace] = rule.split(' -n ');
  const [verbs = '', what = '', name] = question.split(' ');
  const [full = '', subresource] = what.split('/');
  const [resource = '', ...group] = full.split('.');
  return verbs.split(',').map((verb) => ({
    ...{ verb, group: group.join('.'), resource },
    ...(subresource === undefined ? {} : { subresource }),
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
  }));
}

/** As `kubectl auth can-i` takes it. */
export function inWords({
  verb,
  group,
  resource,
  subresource,
  name,
  namespace,
}: ServerAccess): string {
  const full = group === '' ? resource : `${resource}.${group}`;
  const what = name === undefined ? full : `${full}/${name}`;
  const part = subresource === undefined ? '' : ` --subresource=${subresource}`;
  return `${verb} ${what}${part}${namespace === undefined ? '' : ` -n ${namespace}`}`;
}
