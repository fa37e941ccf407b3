import { gzipSync } from 'node:zlib';

import { failureName, messageOf } from '../../../../core/errors';
import {
  ignitionEqual,
  parseAndConvert,
  parseIgnition,
  readRawIgnition,
} from '../../../../core/ignition';
import { nodePorts } from '../../../conformance/render-ports';

const CONFIG = {
  ignition: { version: '3.2.0' },
  storage: { files: [{ path: '/etc/a', contents: { source: 'data:,1' } }] },
};
const JSON_TEXT = JSON.stringify(CONFIG);

const convert = (config: unknown): unknown => parseAndConvert(readRawIgnition(config, nodePorts));

describe('forms of a config', () => {
  test.each([
    ['an object', CONFIG],
    ['JSON text', JSON_TEXT],
    ['base 64', Buffer.from(JSON_TEXT).toString('base64')],
    ['gzip in base 64', gzipSync(JSON_TEXT).toString('base64')],
    ['gzip', new Uint8Array(gzipSync(JSON_TEXT))],
    ['bytes', new Uint8Array(Buffer.from(JSON_TEXT))],
  ])('%s', (_, config) => {
    expect(convert(config)).toEqual({ ...CONFIG, ignition: { version: '3.5.0' } });
  });

  test.each([null, undefined])('%s is no config', (config) => {
    expect(readRawIgnition(config, nodePorts)).toBeUndefined();
  });

  test.each([
    ['neither JSON nor base 64', 'top secret!', 'neither JSON nor base64'],
    ['broken JSON', '{"secret"', 'not valid JSON'],
    ['a broken gzip stream', Buffer.from([0x1f, 0x8b, 1, 2]).toString('base64'), 'gunzipped'],
  ])('%s is refused without its contents', (_, config, words) => {
    expect.assertions(3);
    try {
      readRawIgnition(config, nodePorts);
    } catch (error) {
      expect(failureName(error)).toBe('InvalidIgnition');
      expect(messageOf(error)).toContain(words);
      expect(messageOf(error)).not.toContain('secret');
    }
  });
});

describe('places in messages', () => {
  const errorOf = (config: unknown): string => {
    const raw = readRawIgnition(config, nodePorts);
    if (raw === undefined) throw new Error('no config');
    try {
      parseIgnition(raw);
    } catch (error) {
      return messageOf(error);
    }
    throw new Error('the config was accepted');
  };

  test('an object counts as its compact text', () => {
    const config = { ignition: { version: '3.5.0' }, storage: { files: [{ path: 'a' }] } };
    expect(errorOf(config)).toContain('$.storage.files.0.path, line 1 col 61: path not absolute');
  });

  test('columns count bytes', () => {
    const config = {
      ignition: { version: '3.5.0' },
      systemd: { units: [{ contents: 'é', name: 'x' }] },
    };
    expect(errorOf(config)).toContain('$.systemd.units.0.name, line 1 col 77');
  });

  test('keys that are not known are named beside an error', () => {
    const config = '{"ignition":{"version":"3.5.0"},\n"storage":{"files":[{"path":"a","x":1}]}}';
    expect(errorOf(config)).toContain(
      'warning at $.storage.files.0.x, line 2 col 33: unused key x',
    );
  });

  test('a value of a wrong type is named with its Go type', () => {
    const config = { ignition: { version: '3.5.0' }, storage: { files: [{ mode: '420' }] } };
    expect(errorOf(config)).toContain(
      'json: cannot unmarshal string into Go struct field File.storage.files.FileEmbedded1.mode of type int',
    );
  });
});

describe('equality as Go sees it', () => {
  test.each([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [{ a: undefined }, {}, true],
    [{ a: [] }, {}, false],
    [[1, 2], [2, 1], false],
    [{ a: [1] }, { a: { 0: 1 } }, false],
    [null, {}, false],
  ])('%j and %j: %s', (a, b, equal) => {
    expect(ignitionEqual(a, b)).toBe(equal);
  });
});
