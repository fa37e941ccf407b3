import { spawnSync } from 'node:child_process';
import { parse } from 'yaml';
import { printCloudConfig } from '../../../cli/commands/cloud-config';
import { printPointerConfig } from '../../../cli/commands/pointer-config';
import { EXIT } from '../../../cli/exit-codes';
import { decodeDataUrl } from '../../../core/encoding';
import { newAuthority } from '../../../tools/cluster/certificates';
import { TEST_KEY } from '../../support/signed-orders';
import { aContext } from './join-context';

const SETTINGS = 'temporalAddress: temporal:7233\nserverUrl: https://slipway:32624\n';
const ORDER_KEYS = TEST_KEY.published['keys.json'];
const WHERE = {
  serverUrl: "https://it's.example.com:22623/",
  caFile: 'ca.crt',
  orderKeysFile: 'keys.json',
};
const PLAIN = { ...WHERE, serverUrl: 'https://slipway.example.com:22623' };

let authority: string;
beforeAll(async () => {
  authority = (await newAuthority('machine-config-server')).certificate;
});

const reading = (hostSettings: string) => async (path: string) =>
  path === 'ca.crt' ? authority : path === 'keys.json' ? ORDER_KEYS : hostSettings;
const context = () => {
  const made = aContext();
  return { ...made, context: { ...made.context, now: Date.now } };
};

interface Ignition {
  readonly storage: {
    readonly files: readonly {
      readonly path: string;
      readonly mode: number;
      readonly contents: { readonly source: string };
    }[];
  };
  readonly systemd: { readonly units: readonly { readonly name: string; enabled: boolean }[] };
}

describe('user data that installs the host worker', () => {
  it('is a pointer config with the unit, the authority and the settings', async () => {
    const { context: given, out } = context();
    const options = { ...PLAIN, open: true, hostSettings: 'host.yaml' };

    await printPointerConfig(given, 'worker', options, reading(SETTINGS));

    const { storage, systemd } = JSON.parse(out()) as Ignition;
    const texts = storage.files.map(({ path, mode, contents }) => {
      const decoded = decodeDataUrl(contents.source);
      return [path, mode.toString(8), 'bytes' in decoded && Buffer.from(decoded.bytes).toString()];
    });
    expect(texts).toEqual([
      [
        '/etc/slipway/fetch-host-worker',
        '755',
        expect.stringContaining("url='https://slipway.example.com:22623/host-worker'\n"),
      ],
      ['/etc/slipway/server-ca.crt', '644', authority],
      ['/etc/slipway/host.yaml', '644', SETTINGS],
      ['/etc/slipway/order-keys.json', '644', ORDER_KEYS],
    ]);
    expect(systemd.units).toMatchObject([{ name: 'slipway-host-fetch.service', enabled: true }]);
  });

  it('is a cloud-config of shell that a shell can read, whatever is in its texts', async () => {
    const { context: given, out, asked } = context();

    const code = await printCloudConfig(
      given,
      { ...WHERE, hostSettings: 'host.yaml' },
      reading(SETTINGS.trim()),
    );

    const { bootcmd } = parse(out()) as { readonly bootcmd: readonly (readonly string[])[] };
    expect(code).toBe(EXIT.OK);
    expect(out().split('\n')[0]).toBe('#cloud-config');
    expect(bootcmd).toHaveLength(1);
    const [words = []] = bootcmd;
    expect(words.slice(0, -1)).toEqual(['cloud-init-per', 'once', 'slipway-host', 'sh', '-c']);
    expect(spawnSync('sh', ['-n', '-c', words.at(-1) ?? '']).status).toBe(0);
    expect(words.at(-1)).toContain("url='https://it'\\''s.example.com:22623/host-worker'\n");
    expect(asked).toEqual([]);
  });

  it('has the keys of orders that the cluster publishes, and is refused without any', async () => {
    const printed = async (facts: object): Promise<string> => {
      const { context: given, out } = aContext({ facts });
      const { serverUrl, caFile } = PLAIN;
      const options = { serverUrl, caFile, hostSettings: 'host.yaml' };
      await printCloudConfig({ ...given, now: Date.now }, options, reading(SETTINGS));
      return out();
    };

    expect(await printed({ orderKeys: ORDER_KEYS })).toContain(TEST_KEY.id);
    await expect(printed({})).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: expect.stringMatching(
        /no configmap slipway\/slipway-order-keys, which the cluster worker makes.*--order-keys-file/,
      ) as string,
    });
    await expect(printed({ orderKeys: '{}' })).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: 'configmap slipway/slipway-order-keys: serial: is not a number',
    });
  });

  it('is refused with every problem of the settings, before a token is made', async () => {
    const { context: given, out, tokens } = context();
    const wrong = 'serverURL: https://slipway:32624\ntemporalApiKey: secret\n- a\n';

    const printing = printPointerConfig(
      given,
      'worker',
      { ...PLAIN, hostSettings: 'host.yaml' },
      reading(wrong),
    );

    await expect(printing).rejects.toMatchObject({
      exitCode: EXIT.USAGE,
      message: [
        '--host-settings host.yaml:',
        'host.yaml: line 3: expected "setting: value", not "- a"',
        'serverURL: no such setting; see slipway host-worker --help',
        'gatewayAddress or temporalAddress: is missing',
        'serverUrl: is missing',
        'temporalApiKey: user data keeps no secret; name a file in temporalApiKeyFile',
      ].join('\n  '),
    });
    expect([out(), tokens]).toEqual(['', []]);
  });
});
