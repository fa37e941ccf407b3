/**
 * Values of kernel arguments may be secret. Answers, reports and failures of activities are kept in histories,
 * annotations and logs, so they must not contain a value; the machine gets all values.
 */

import { createHostActivities } from '../../../../activities/host/host-activities';
import { findOsDrift } from '../../../../host/drift/compare';
import type { HostPorts } from '../../../../host/ports';
import { messageOf } from '../../../../core/errors';
import { aConfig, aHost, bootInto, orderFor, type TestHost } from '../a-host';

const image = 'quay.io/os@sha256:1';
const OLD = aConfig('rendered-worker-old', {
  osImageURL: image,
  kernelArguments: ['luks.key=0ldsecret', 'quiet'],
});
const NEW = aConfig('rendered-worker-new', {
  osImageURL: image,
  kernelArguments: ['luks.key=s3cret', 'quiet'],
});

let host: TestHost;
let told: string[];
beforeEach(async () => {
  host = await aHost([OLD, NEW]);
  told = [];
  await bootInto(host, OLD);
});
afterEach(() => {
  expect(told.length).toBeGreaterThan(0);
  expect(told.join('\n')).not.toMatch(/s3cret|0ldsecret/);
  host.remove();
});

async function activities(more: Partial<HostPorts> = {}) {
  const ports = await host.ports();
  const { signal } = host.abort;
  const progress = (text: string) => void told.push(text);
  const warn = (sentence: string) => void told.push(sentence);
  return createHostActivities({ ...ports, warn, context: () => ({ signal, progress }), ...more });
}

async function hear(work: Promise<unknown>): Promise<string> {
  const text = await work.then((result) => JSON.stringify(result ?? null), messageOf);
  told.push(text);
  return text;
}

const verifying = (rebootedFrom: string) => ({ ...orderFor(NEW, 'verifyUpdate'), rebootedFrom });

it('is neither in the answers of the update nor in the message about a wrong command line', async () => {
  const steps = await activities();
  const prepared = await hear(steps.prepareUpdate(orderFor(NEW, 'prepareUpdate')));
  expect(prepared).toContain('kernel arguments changed (+luks.key=… -luks.key=…)');
  await hear(steps.applyUpdate(orderFor(NEW, 'applyUpdate')));
  const { bootId } = await steps.armReboot(orderFor(NEW, 'armReboot'));
  await host.boot();

  const { booted } = await (await host.ports()).os.status();
  expect(booted.kernelArguments).toEqual(['luks.key=s3cret', 'quiet']);
  const vitals = { commandLine: async () => ['quiet'], kubeletHealthy: async () => undefined };
  const wrong = await hear((await activities({ vitals })).verifyUpdate(verifying(bootId)));
  expect(wrong).toBe('the running kernel was not given: [luks.key=…]');
  const both = {
    ...vitals,
    commandLine: async () => ['luks.key=0ldsecret', ...booted.kernelArguments],
  };
  const still = await hear((await activities({ vitals: both })).verifyUpdate(verifying(bootId)));
  expect(still).toBe('the running kernel was still given: [luks.key=…]');
  await hear((await activities()).verifyUpdate(verifying(bootId)));
});

it('is not in the message about drift of the operating system', async () => {
  const status = await (await host.ports()).os.status();

  const drift = findOsDrift(status, NEW.spec);

  told.push(drift ?? '');
  expect(drift).toBe('missing expected kernel arguments: [luks.key=…]');
});

it('is not in the message about a rollback to other arguments', async () => {
  const steps = await activities();
  await steps.prepareUpdate(orderFor(NEW, 'prepareUpdate'));
  await steps.applyUpdate(orderFor(NEW, 'applyUpdate'));
  await hear(steps.goBack(orderFor(NEW, 'goBack')));
  const ports = await host.ports();
  const status = async () => {
    const seen = await ports.os.status();
    const kernelArguments = [...seen.booted.kernelArguments, 'other=s3cret'];
    return { ...seen, booted: { ...seen.booted, kernelArguments } };
  };

  const after = await activities({ os: { ...ports.os, status } });

  const text = await hear(after.verifyBack(orderFor(NEW, 'verifyBack')));
  expect(text).toBe('kernel arguments was [luks.key=… quiet], is [luks.key=… quiet other=…]');
});
