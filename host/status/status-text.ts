import type { Deployment, OsStatus } from '../ports';
import type { FirstBootRecord } from '../first-boot/first-boot-record';
import type { MachineStatus, KubeletStatus } from './machine-status';
import type { LastOrder } from './worker-state';

/** Without line ends; problems come last. */
export function statusLines(status: MachineStatus): readonly string[] {
  const { node, currentConfig, driver, os, kubelet, orderKeys = [] } = status;
  const { update, firstBoot, worker, problems } = status;
  const lines = [
    fact('node', node),
    fact('config', currentConfig ?? 'none yet'),
    fact('driver', driver === undefined ? 'none fits' : `${driver.name} (${driver.why})`),
    ...(os === undefined ? [] : osLines(os)),
    ...(kubelet === undefined ? [] : kubeletLines(kubelet)),
    fact('orders', orderKeys.length === 0 ? 'obeys none' : `obeys key ${orderKeys.join(', ')}`),
    fact('update', update === undefined ? 'none open' : `to ${update.target}: ${update.phase}`),
  ];
  if (update !== undefined) {
    lines.push(fact('', update.standing));
    if (update.previous !== undefined) lines.push(fact('', `from ${update.previous}`));
    lines.push(fact('', `order ${update.orderId}`));
  }
  if (firstBoot !== undefined) lines.push(fact('first boot', firstBootText(firstBoot)));
  if (worker === undefined) {
    lines.push(fact('worker', 'has not run in this boot'));
  } else {
    const { pid, running, connection, since, temporal, lastOrder } = worker;
    const how = running ? `${connection} since ${since}` : 'not running';
    lines.push(fact('worker', `process ${pid}: ${how}`), fact('', `Temporal at ${temporal}`));
    if (lastOrder !== undefined) lines.push(fact('last order', orderText(lastOrder)));
  }
  return [...lines, ...problems.map((problem) => fact('PROBLEM', problem))];
}

function firstBootText({ state, attempts, since, nextAttemptAt }: FirstBootRecord): string {
  const next = nextAttemptAt === undefined ? '' : `, tried again at ${nextAttemptAt}`;
  return `${state} since ${since}, ${attempts} ${attempts === 1 ? 'try' : 'tries'}${next}`;
}

function osLines({ bootId, booted, staged, rollback }: OsStatus): readonly string[] {
  const lines = [fact('boot', bootId), fact('booted', deploymentText(booted))];
  if (booted.kernelArguments.length > 0) {
    lines.push(fact('', `kernel arguments ${booted.kernelArguments.join(' ')}`));
  }
  if (booted.extensions.length > 0)
    lines.push(fact('', `extensions ${booted.extensions.join(' ')}`));
  if (staged !== undefined) {
    const lock = staged.locked ? 'locked' : 'takes over at the next boot';
    lines.push(fact('staged', `${deploymentText(staged)}, ${lock}`));
  }
  if (rollback !== undefined) lines.push(fact('rollback', deploymentText(rollback)));
  return lines;
}

function kubeletLines(kubelet: KubeletStatus): readonly string[] {
  const { distribution, kubeletUnit, certificateFile, keyFile, authorityFile } = kubelet;
  const key = keyFile === certificateFile ? 'with its key' : `key ${keyFile}`;
  const {
    kubeletUnit: noUnit,
    certificateFile: noCertificate,
    authorityFile: noAuthority,
  } = kubelet.missing;
  return [
    fact('kubelet', noUnit ?? `${kubeletUnit ?? ''} (${distribution})`),
    fact('', noCertificate ?? `certificate ${certificateFile}, ${key}`),
    fact('', noAuthority ?? `authority ${authorityFile}`),
    fact('', kubelet.healthUrl === undefined ? 'health not asked' : `health ${kubelet.healthUrl}`),
  ];
}

function deploymentText({ id, image, digest }: Deployment): string {
  const digestText = digest === undefined || image?.endsWith(digest) === true ? '' : ` ${digest}`;
  return image === undefined || image === '' ? id : `${id} ${image}${digestText}`;
}

function orderText({ activity, config, endedAt, failure, reason }: LastOrder): string {
  const end = endedAt === undefined ? 'runs' : `ended ${endedAt}`;
  const how = failure === undefined ? end : `${end}: ${failure}: ${reason ?? ''}`;
  return `${activity} of ${config}, ${how}`;
}

function fact(name: string, value: string): string {
  return `${name === '' ? '' : `${name}:`}`.padEnd(12) + value;
}
