import fc from 'fast-check';

import { failureName } from '../../../../core/errors';
import {
  renderForHosts,
  renderMachineConfig,
  type MachineConfig,
  type RenderedMachineConfig,
  type RenderInput,
} from '../../../../core/machine-config';
import { ANNOTATION, LABEL } from '../../../../core/names';
import { CONTROLLER, files, machineConfig, renderInput } from './builders';

const render = (
  sources: readonly MachineConfig[],
  more: Partial<RenderInput> = {},
): RenderedMachineConfig => renderMachineConfig(renderInput(sources, more));

const fileAt = (path: string, text: string): object => ({
  path,
  contents: { source: `data:,${text}` },
});
const sourceOf = (rendered: RenderedMachineConfig, path: string): string | undefined =>
  rendered.spec.config.storage?.files?.find((file) => file.path === path)?.contents?.source;

const roleOf = (configs: readonly MachineConfig[], name: string): string | undefined =>
  configs.find(({ metadata }) => metadata.name === name)?.metadata.labels?.[LABEL.ROLE];

describe('merge order', () => {
  test('a custom pool beats a worker whatever the names', () => {
    const rendered = render([
      machineConfig(
        '00-infra',
        { config: files(fileAt('/etc/a', 'infra')) },
        { labels: { [LABEL.ROLE]: 'infra' } },
      ),
      machineConfig('99-worker', { config: files(fileAt('/etc/a', 'worker')) }),
    ]);
    expect(rendered.mergeOrder).toEqual(['99-worker', '00-infra']);
    expect(sourceOf(rendered, '/etc/a')).toBe('data:,infra');
  });

  test('names are compared by bytes', () => {
    const { mergeOrder } = render(
      ['b', 'a-1', 'a', 'B', '10', '9'].map((name) => machineConfig(name)),
    );
    expect(mergeOrder).toEqual(['10', '9', 'B', 'a', 'a-1', 'b']);
  });

  test('a MachineConfig without labels cannot be ordered', () => {
    const bare: MachineConfig = { metadata: { name: '10-bare' }, spec: {} };
    expect(() => render([bare])).toThrow('Cannot find label in MachineConfig 10-bare');
  });
});

describe('the name', () => {
  const someFile = fc.record({
    path: fc.constantFrom('/etc/a', '/etc/b', '/etc/c'),
    contents: fc.record({ source: fc.constantFrom('data:,1', 'data:,2') }),
  });
  const someSpec = fc.record(
    {
      config: fc
        .uniqueArray(someFile, { selector: (file) => file.path })
        .map((list) => files(...list)),
      kernelArguments: fc.array(fc.constantFrom('a', 'b=1')),
      fips: fc.boolean(),
      kernelType: fc.constantFrom('', 'default', 'realtime'),
    },
    { requiredKeys: [] },
  );
  const someConfigs = fc
    .array(someSpec, { minLength: 1, maxLength: 5 })
    .map((specs) => specs.map((spec, i) => machineConfig(`${i}`, spec)));
  /** Roles of workers and of one custom pool, whose name sorts before or after theirs. */
  const someOfTwoRoles = fc
    .constantFrom('infra', 'zoned')
    .chain((custom) =>
      fc.array(fc.tuple(fc.constantFrom('worker', custom), someSpec), {
        minLength: 1,
        maxLength: 6,
      }),
    )
    .map((configs) =>
      configs.map(([role, spec], i) =>
        machineConfig(`${i}`, spec, { labels: { [LABEL.ROLE]: role } }),
      ),
    );
  const shuffled = someOfTwoRoles.chain((configs) =>
    fc.tuple(
      fc.constant(configs),
      fc.shuffledSubarray(configs, { minLength: configs.length, maxLength: configs.length }),
    ),
  );

  test('does not depend on the order in which the MachineConfigs are listed', () => {
    fc.assert(
      fc.property(shuffled, ([configs, inAnyOrder]) => {
        const [one, other] = [render(configs), render(inAnyOrder)];
        expect(other).toEqual(one);
        const isWorker = one.mergeOrder.map((name) => roleOf(configs, name) === 'worker');
        expect(isWorker.lastIndexOf(true)).toBe(isWorker.filter(Boolean).length - 1);
      }),
    );
  });

  test('is the same for the same content and another for another', () => {
    fc.assert(
      fc.property(someConfigs, someConfigs, (some, others) => {
        const [a, b] = [render(some), render(others)];
        expect(a.name === b.name).toBe(a.specYaml === b.specYaml);
        expect(render(structuredClone(some))).toEqual(a);
      }),
    );
  });

  test('leaves the MachineConfigs as they were', () => {
    fc.assert(
      fc.property(someConfigs, (configs) => {
        const before = structuredClone(configs);
        render(configs);
        expect(configs).toEqual(before);
      }),
    );
  });

  test('does not depend on metadata', () => {
    const annotations = { note: 'x' };
    expect(render([machineConfig('a', {}, { annotations })]).name).toBe(
      render([machineConfig('b')]).name,
    );
  });

  test('holds the name of the pool', () => {
    const [worker, infra] = ['worker', 'infra'].map(
      (pool) => render([machineConfig('a')], { pool }).name,
    );
    expect(worker).toMatch(/^rendered-worker-[0-9a-f]{32}$/);
    expect(infra).toBe(worker?.replace('worker', 'infra'));
  });
});

describe('images', () => {
  const userImage = 'registry.example/mine@sha256:3';

  test('come from the ControllerConfig', () => {
    const { spec, annotations } = render([machineConfig('a')]);
    expect(spec.osImageURL).toBe(CONTROLLER.baseOSContainerImage);
    expect(spec.baseOSExtensionsContainerImage).toBe(CONTROLLER.baseOSExtensionsContainerImage);
    expect(annotations).toEqual({
      [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'abc',
      [ANNOTATION.RELEASE_IMAGE_VERSION]: '1.2.3',
    });
  });

  test('the last one that a person named wins and is annotated', () => {
    const { spec, annotations } = render([
      machineConfig('10', { osImageURL: 'registry.example/first@sha256:4' }),
      machineConfig('20', { osImageURL: userImage }),
      machineConfig('30', { osImageURL: '' }),
    ]);
    expect(spec.osImageURL).toBe(userImage);
    expect(annotations[ANNOTATION.OS_IMAGE_URL_OVERRIDDEN]).toBe('true');
  });

  test('what a person sets beside those of the cluster is named, with the last MachineConfig', () => {
    const { imageOverrides } = render([
      machineConfig('10', { osImageURL: 'registry.example/first@sha256:4' }),
      machineConfig('20', { osImageURL: userImage, baseOSExtensionsContainerImage: userImage }),
      machineConfig(
        '30',
        { osImageURL: 'registry.example/generated@sha256:7' },
        { annotations: { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'abc' } },
      ),
    ]);
    expect(imageOverrides).toEqual([
      {
        ...{ field: 'osImageURL', machineConfig: '20', image: userImage },
        instead: CONTROLLER.baseOSContainerImage,
      },
      {
        ...{ field: 'baseOSExtensionsContainerImage', machineConfig: '20', image: userImage },
        instead: CONTROLLER.baseOSExtensionsContainerImage,
      },
    ]);
  });

  test.each<[string, MachineConfig['spec']]>([
    ['none', {}],
    ['the one of the cluster', { osImageURL: CONTROLLER.baseOSContainerImage }],
  ])('a person who sets %s overrides nothing', (_what, spec) => {
    expect(render([machineConfig('a', spec)]).imageOverrides).toEqual([]);
  });

  test('where the cluster names no image, a person overrides none', () => {
    const controllerConfig = {
      ...CONTROLLER,
      ...{ baseOSContainerImage: '', baseOSExtensionsContainerImage: '' },
    };
    const { imageOverrides } = render([machineConfig('a', { osImageURL: userImage })], {
      controllerConfig,
    });
    expect(imageOverrides).toEqual([]);
  });

  const stream = {
    name: 'el10',
    osImage: 'registry.example/10@sha256:5',
    extensionsImage: 'x@sha256:6',
  };

  test('a stream decides both', () => {
    const { spec, annotations } = render([machineConfig('a')], { osImageStream: stream });
    expect(spec.osImageURL).toBe(stream.osImage);
    expect(spec.baseOSExtensionsContainerImage).toBe(stream.extensionsImage);
    expect(annotations).not.toHaveProperty(ANNOTATION.OS_IMAGE_URL_OVERRIDDEN);
  });

  test('a stream and an image of a person contradict each other', () => {
    const sources = [machineConfig('a', { osImageURL: userImage })];
    expect(() => render(sources, { osImageStream: stream })).toThrow(
      'cannot override MachineConfig osImageURL and set MachineConfigPool spec.osImageStream.name',
    );
  });
});

test('null is absent, also in the metadata', () => {
  const nulls = {
    ...{ osImageURL: null, baseOSExtensionsContainerImage: null, config: null, fips: null },
    ...{ kernelArguments: null, extensions: null, kernelType: null },
  } as unknown as MachineConfig['spec'];
  const annotations = null as unknown as Record<string, string>;
  const labels = annotations;

  expect(render([machineConfig('50-a', nulls, { annotations })]).name).toBe(
    render([machineConfig('50-a')]).name,
  );
  expect(() => render([machineConfig('50-a', nulls, { labels })])).toThrow(
    'Cannot find label in MachineConfig 50-a',
  );
});

test('kernel arguments without effect stay in the spec, as in MCO', () => {
  const kernelArguments = ['', ' ', 'a'];
  expect(render([machineConfig('50-a', { kernelArguments })]).spec.kernelArguments).toEqual(
    kernelArguments,
  );
});

test('what other controllers generated is rendered for hosts, without its images', () => {
  const annotations = { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'old' };
  const config = files(fileAt('/etc/a', '1'));
  const generated = machineConfig('00-worker', { config, osImageURL: 'x' }, { annotations });
  const own = machineConfig('00-worker', { config });

  expect(renderForHosts(renderInput([generated])).name).toBe(
    renderForHosts(renderInput([own])).name,
  );
});

describe('refusals', () => {
  test('a pool without MachineConfigs', () => {
    expect(() => render([])).toThrow('the selector of pool worker matches no MachineConfig');
  });

  test('a MachineConfig that another version of the controllers generated', () => {
    const annotations = { [ANNOTATION.GENERATED_BY_CONTROLLER_VERSION]: 'old' };
    expect(() => render([machineConfig('98-kubelet', {}, { annotations })])).toThrow(
      'Ignoring MC 98-kubelet generated by older version old (my version: abc)',
    );
  });

  test('more than the API server stores', () => {
    const large = files(fileAt('/etc/large', 'x'.repeat(1_600_000)));
    expect.assertions(2);
    try {
      render([machineConfig('a', { config: large })]);
    } catch (error) {
      expect(failureName(error)).toBe('ConfigTooLarge');
      expect(error).toHaveProperty(
        'message',
        expect.stringMatching(/has 160\d{4} bytes.*1572864$/),
      );
    }
  });

  test('a size near that is only noted', () => {
    const near = files(fileAt('/etc/large', 'x'.repeat(1_300_000)));
    expect(render([machineConfig('a', { config: near })]).nearlyTooLarge).toBe(true);
    expect(render([machineConfig('a')]).nearlyTooLarge).toBe(false);
  });

  test('control characters, which have no YAML', () => {
    expect(() => render([machineConfig('a', { kernelArguments: ['a\u007f'] })])).toThrow(
      'error converting JSON to YAML: yaml: control characters are not allowed',
    );
  });

  test('an invalid config stops the render before anything is merged', () => {
    const bad = machineConfig('99', {
      config: { ignition: { version: '3.5.0' }, storage: { files: [{}] } },
    });
    expect(() => render([machineConfig('00'), bad])).toThrow('path not specified');
  });
});
