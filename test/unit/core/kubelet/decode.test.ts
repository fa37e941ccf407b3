import { readYamlDocument } from '../../../../adapters/manifests';
import { decodeKubeletConfiguration } from '../../../../core/kubelet';

const decode = (text: string) => decodeKubeletConfiguration(text, readYamlDocument);

describe('reading a KubeletConfiguration', () => {
  test.each([
    ['{"maxPods":5}', { maxPods: 5n }],
    ['{"MaxPods":5}', { maxPods: 5n }],
    ['{"noSuch":1}', {}],
    ['{"maxPods":5} and more', { maxPods: 5n }],
    ['maxPods: 5\n---\nmaxPods: 6\n', { maxPods: 5n }],
    ['---\nmaxPods: 5\n', { maxPods: 5n }],
    ['{maxPods: 5}', { maxPods: 5n }],
    ['{"maxPods":5,}', { maxPods: 5n }],
    ['null', {}],
    [' ', {}],
    ['# nothing', {}],
    // What JSON refuses, YAML may take.
    ['{"maxPods":1e2}', { maxPods: 100n }],
    ['{"maxPods":10.0}', { maxPods: 10n }],
    ['{"cpuManagerPolicy":5}', { cpuManagerPolicy: '5' }],
    ['{"address":99999999999999999999}', { address: '1e+20' }],
    ['{"evictionHard":{"a":true}}', { evictionHard: { a: 'true' } }],
    [
      '{"providerID":1,"maxOpenFiles":9223372036854775807}',
      { providerID: '1', maxOpenFiles: 9223372036854775807n },
    ],
    ['{"registryPullQPS":null}', {}],
    ['{"evictionHard":null}', { evictionHard: null }],
    [
      '{"logging":{"flushFrequency":5}}',
      { logging: { flushFrequency: { nanoseconds: 5n, asText: false } } },
    ],
    [
      '{"reservedMemory":[{"limits":{"memory":"1024Mi"}}]}',
      { reservedMemory: [{ limits: { memory: '1Gi' } }] },
    ],
  ])('%s', (text, configuration) => {
    expect(decode(text)).toEqual({ configuration });
  });

  const field = 'Go struct field KubeletConfiguration';
  test.each([
    ['', 'EOF'],
    ['{"maxPods": 10', 'unexpected EOF'],
    ['{"a" 5}', "json: offset 6: invalid character '5' after object key"],
    ['{"maxPods":"5"}', `json: cannot unmarshal string into ${field}.maxPods of type int32`],
    [
      '{"maxPods":3000000000}',
      `json: cannot unmarshal number 3000000000 into ${field}.maxPods of type int32`,
    ],
    ['{"maxPods":10.5}', `json: cannot unmarshal number 10.5 into ${field}.maxPods of type int32`],
    ['{"kind":5}', `json: cannot unmarshal number into ${field}.TypeMeta.kind of type string`],
    [
      '{"evictionHard":5}',
      `json: cannot unmarshal number into ${field}.evictionHard of type map[string]string`,
    ],
    [
      '{"evictionHard":{"a":{}}}',
      `json: cannot unmarshal object into ${field}.evictionHard of type string`,
    ],
    [
      '{"reservedMemory":[5]}',
      `json: cannot unmarshal number into ${field}.reservedMemory of type v1beta1.MemoryReservation`,
    ],
    [
      '{"authentication":{"webhook":{"cacheTTL":5}}}',
      'json: cannot unmarshal number into Go struct field KubeletWebhookAuthentication.authentication.webhook.cacheTTL of type string',
    ],
    [
      '{"logging":{"options":{"json":{"splitStream":5}}}}',
      'json: cannot unmarshal number into Go struct field JSONOptions.logging.options.json.OutputRoutingOptions.splitStream of type bool',
    ],
    [
      '{"logging":{"verbosity":-1}}',
      'json: cannot unmarshal number -1 into Go struct field LoggingConfiguration.logging.verbosity of type v1.VerbosityLevel',
    ],
    [
      '{"logging":{"flushFrequency":true}}',
      'invalid duration "true": json: cannot unmarshal bool into Go value of type time.Duration',
    ],
    [
      '{"memoryThrottlingFactor":1e400}',
      `json: cannot unmarshal number 1e400 into ${field}.memoryThrottlingFactor of type float64`,
    ],
    ['{"syncFrequency":null}', 'time: invalid duration ""'],
    // What a type reads by itself outranks a wrong type before it.
    ['{"maxPods":"5","syncFrequency":"soon"}', 'time: invalid duration "soon"'],
    [
      '[]',
      'error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type v1beta1.KubeletConfiguration',
    ],
    [
      'maxPods: "5"',
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal string into ${field}.maxPods of type int32`,
    ],
    ['--- x\nmaxPods: 5', 'invalid Yaml document separator: x'],
  ])('refuses %s', (text, error) => {
    expect(decode(text)).toEqual({ error });
  });
});
