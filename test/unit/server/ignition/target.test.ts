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
    ['/%63onfig/master', 'master'],
    ['/%63onfig/', 'config'],
    ['/config/%2e%2e', '..'],
    ['/config/..%2f..%2fhealthz', 'healthz'],
    ['/config/%2f', 'config'],
    ['/config/', 'config'],
    // A path that is not clean counts as its clean form.
    ['/config/../config/master', 'master'],
    ['/config/../config/master?role=x', 'master'],
    ['/config/x/../master', 'master'],
    ['/config/master/../worker', 'worker'],
    ['/config/worker/x/..', 'worker'],
    ['/config/./worker/', 'worker'],
    ['/config/worker/.', 'worker'],
    ['/config//worker', 'worker'],
    ['/config/worker//', 'worker'],
    ['//config/worker', 'worker'],
    ['///config///worker', 'worker'],
    ['/./config/worker', 'worker'],
    ['/../config/worker', 'worker'],
    ['/../../x/../config/worker', 'worker'],
    ['/x/../%63onfig/worker', 'worker'],
    ['https://example.com//config/worker', 'worker'],
    ['/config/%2e%2e/config/master', 'master'],
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
    ['/%63onfig', '/config/'],
    ['/%63%6Fnfi%67?a=b', '/config/?a=b'],
    ['/x/../%63onfig', '/config/'],
    ['/config/../config', '/config/'],
    ['/config/master/..', '/config/'],
    ['/config/.', '/config/'],
    ['/config/../config?"><script>', '/config/?%22%3E%3Cscript%3E'],
    ['/config?\\example.com', '/config/?%5Cexample.com'],
  ])('%s is sent elsewhere on this server', (url, location) => {
    expect(readTarget(url)).toEqual({ kind: 'redirect', location });
  });

  it.each([
    ['/healthz', 'health'],
    ['/healthz?x', 'health'],
    ['/./healthz', 'health'],
    ['//healthz', 'health'],
    ['/config/../healthz', 'health'],
    ['/healthz/', 'nothing'],
    ['/%63onfig/../x', 'nothing'],
    ['/config/../x', 'nothing'],
    ['/config/..', 'nothing'],
    ['/config/master/../../x', 'nothing'],
    ['/../../etc/passwd', 'nothing'],
    ['//example.com/', 'nothing'],
    ['/x/..//\\example.com', 'nothing'],
    ['/%68ealthz', 'health'],
    ['/healthz%2f', 'nothing'],
    // As in Go, an escaped slash does not separate elements.
    ['/config%2fmaster', 'nothing'],
    ['/config%2Fmaster', 'nothing'],
    ['/config%2f/master', 'nothing'],
    ['/config%2f', 'nothing'],
    ['/%2fconfig/master', 'nothing'],
    ['/%2f/config/master', 'nothing'],
    ['/%2f%2fexample.com/config/master', 'nothing'],
    ['/%2e/config/master', 'nothing'],
    ['/%2e%2e/config/master', 'nothing'],
    ['/x%2f..%2fconfig/master', 'nothing'],
    ['/%2563onfig/master', 'nothing'],
    ['/config%00/master', 'nothing'],
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
