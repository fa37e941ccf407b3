import { readTarget } from '../../../../server/ignition/target';

describe('what a request line asks for', () => {
  it.each([
    ['/config/worker', 'worker'],
    ['/config/worker?role=x', 'worker'],
    ['/config/worker/', 'worker'],
    // As in MCO: the last element counts.
    ['/config/x/master', 'master'],
    ['/config/x%2Fmaster', 'master'],
    ['/config/%2e%2e/x', 'x'],
    ['/config/%77orker', 'worker'],
    ['/config/', 'config'],
    ['/config/a%00b', 'a\0b'],
    ['https://10.0.0.1:22623/config/worker?role=x', 'worker'],
    ['HTTP://example.com/config/worker', 'worker'],
  ])('%s is the config of a pool', (url, pool) => {
    expect(readTarget(url)).toEqual({ kind: 'config', pool });
  });

  it.each([
    ['/config', '/config/'],
    ['https://example.com//config', '/config/'],
    ['/config?a=b', '/config/?a=b'],
    ['/config/../config', '/config/'],
    ['/config/../x', '/x'],
    ['/config//worker', '/config/worker'],
    ['/config/./worker/', '/config/worker/'],
    ['/config/..', '/'],
    ['/../../etc/passwd', '/etc/passwd'],
    ['//example.com/', '/example.com/'],
    ['/x/..//\\example.com', '/%5Cexample.com'],
    ['/config/../"><script>', '/%22%3E%3Cscript%3E'],
  ])('%s is sent elsewhere on this server', (url, location) => {
    expect(readTarget(url)).toEqual({ kind: 'redirect', location });
  });

  it.each([
    ['/healthz', 'health'],
    ['/healthz?x', 'health'],
    ['/healthz/', 'nothing'],
    ['/', 'nothing'],
    ['/configs/worker', 'nothing'],
    ['', 'malformed'],
    ['*', 'server'],
    ['https://example.com', 'nothing'],
    ['https://example.com?x', 'nothing'],
    ['https://example.com/healthz', 'health'],
    ['https:///healthz', 'malformed'],
    ['ftp://example.com/healthz', 'malformed'],
    ['example.com/healthz', 'malformed'],
    ['/config/%', 'malformed'],
    ['/config/%g0', 'malformed'],
    ['/config/%ff', 'malformed'],
  ])('%s: %s', (url, kind) => {
    expect(readTarget(url)).toEqual({ kind });
  });
});
