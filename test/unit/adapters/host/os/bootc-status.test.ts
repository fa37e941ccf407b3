import { hasProgress, readProgressLine } from '../../../../../adapters/host/os/bootc-progress';
import { readBootcStatus } from '../../../../../adapters/host/os/bootc-status';
import { digest, failureOf, fixture } from './fixtures';

const text = (name: string) => fixture(`bootc/${name}.json`);
const read = (name: string) => readBootcStatus(text(name));
const image = (character: string) => `registry.example/os/node@${digest(character)}`;

describe('what bootc status prints', () => {
  it('as v1alpha1', () => {
    expect(read('v1alpha1-0.1.0-booted')).toEqual({
      booted: {
        id: `${'1'.repeat(64)}.0`,
        backend: 'ostree',
        image: image('1'),
        digest: digest('1'),
        pinned: false,
        downloadOnly: false,
      },
      rollbackQueued: false,
    });
  });

  it('as v1beta1, with a staged image', () => {
    expect(read('v1beta1-0.1.9-staged')).toMatchObject({
      staged: { image: image('2') },
      booted: { id: `${'3'.repeat(64)}.1` },
    });
  });

  it('as v1, with a queued rollback and a tag', () => {
    expect(read('v1-1.1.2-rollback-queued')).toMatchObject({
      booted: { image: 'registry.example/os/node:4.19', digest: digest('7') },
      rollback: { digest: digest('8'), pinned: true },
      rollbackQueued: true,
    });
  });

  it('as v1 of 1.12, staged without taking over', () => {
    expect(read('v1-1.12.0-download-only')).toMatchObject({
      staged: { downloadOnly: true },
      booted: { downloadOnly: false },
      rollback: { id: `${'6'.repeat(64)}.0` },
    });
  });

  it('as v1 with composefs', () => {
    expect(read('v1-1.12.0-composefs').booted).toMatchObject({
      id: 'a'.repeat(64) + 'b'.repeat(64),
      backend: 'composefs',
    });
  });

  it('of another transport names the transport', () => {
    const local = text('v1alpha1-0.1.0-booted').replaceAll('"registry"', '"containers-storage"');
    expect(readBootcStatus(local).booted.image).toBe(`containers-storage:${image('1')}`);
  });

  it('of a deployment that rpm-ostree changed has no image', () => {
    const host = JSON.parse(text('v1alpha1-0.1.0-booted')) as {
      status: { booted: Record<string, unknown> };
    };
    host.status.booted['image'] = null;
    expect(readBootcStatus(JSON.stringify(host)).booted).not.toHaveProperty('image');
  });
});

it.each([
  [
    text('v1-1.1.2-not-bootc'),
    /status\.booted should be the image that the machine has booted but is nothing/,
  ],
  [
    text('v1-1.12.0-composefs').replace('bootc/v1"', 'bootc/v2"'),
    /apiVersion should be org\.containers\.bootc\/ with v1alpha1, v1beta1, v1 but is 'org\.containers\.bootc\/v2'/,
  ],
  [
    text('v1-1.12.0-composefs').replace('"composefs": {', '"other": {'),
    /status\.booted\.ostree should be a deployment/,
  ],
  [
    text('v1beta1-0.1.9-staged').replace('"deploySerial": 0', '"deploySerial": -1'),
    /status\.staged\.ostree\.deploySerial should be a whole number but is -1/,
  ],
])('a format that nobody has seen is refused by field', (output, message) => {
  const failure = failureOf(() => readBootcStatus(output));
  expect(failure.message).toMatch(message);
  expect(failure.name).toBe('OsCommandFailed');
});

describe('the progress of bootc', () => {
  it('is layers and bytes', () => {
    const event = { type: 'ProgressBytes', bytes: 5, bytesTotal: 9, steps: 1, stepsTotal: 3 };
    expect(readProgressLine(JSON.stringify(event))).toEqual({
      bytes: 5,
      totalBytes: 9,
      layers: 1,
      totalLayers: 3,
    });
    expect(readProgressLine(JSON.stringify({ ...event, bytesTotal: 0 }))).not.toHaveProperty(
      'totalBytes',
    );
  });

  it.each(['', '7', 'null', '{"type":"Start"}', '{"type":"ProgressBytes","bytes":"x"}'])(
    'is not %s',
    (line) => {
      expect(readProgressLine(line)).toBeUndefined();
    },
  );

  it('comes from versions that have it', () => {
    const known = ['bootc 1.3.0', 'bootc 1.12.0', 'bootc 2.0', 'bootc 1.1.2', 'bootc 0.1.9', '?'];
    expect(known.filter(hasProgress)).toEqual(['bootc 1.3.0', 'bootc 1.12.0', 'bootc 2.0']);
  });
});
