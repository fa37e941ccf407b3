import { imagesOf, layeringOf } from '../conformance/layering';
import { runFile } from '../conformance/run-cases';

const KNOWN = new Set(['Name']);
const layering = (input: object) => layeringOf({ Name: 'x', ...input }, KNOWN, 'own');
const withImage = { metadata: { name: 'mosc-1' }, status: { currentImagePullSpec: 'img' } };
const build = (of: string, state?: string, name = 'mosb-1') => ({
  metadata: { name },
  spec: { machineConfig: { name: of } },
  status: {
    conditions:
      state === undefined ? [] : [{ type: state, status: 'True', reason: state, message: state }],
  },
});

describe('what a case says of images', () => {
  it.each([
    ['CurImg', 'DesImg'],
    ['CurImage', 'DesImage'],
    ['CurrentImage', 'DesiredImage'],
    ['currentimage', 'desiredimage'],
  ])('on a node as %s and %s', (current, desired) => {
    expect(imagesOf({ Name: 'n', [current]: 'a', [desired]: 'b' }, KNOWN)).toEqual({
      current: 'a',
      desired: 'b',
    });
    expect(imagesOf({ Name: 'n', [current]: '', [desired]: null }, KNOWN)).toEqual({});
  });

  it.each([
    [
      { Layered: true, Image: 'img' },
      { config: withImage, build: build('own') },
    ],
    [
      { Layered: true, MOSCImage: 'img', MOSBConfig: 'b' },
      { config: withImage, build: build('b') },
    ],
    [
      { MOSC: 'img', MOSB: 'b' },
      { config: withImage, build: build('b') },
    ],
    [
      { OSImage: 'img', MOSBuildConfig: 'b' },
      { config: withImage, build: build('b') },
    ],
    [
      { ImagePullSpec: 'img', BuildConfig: 'b' },
      { config: withImage, build: build('b') },
    ],
    [{ CurrentImagePullSpec: 'img' }, { config: withImage }],
    [{ MOSC: { Name: 'mosc-1', Image: 'img' }, MOSB: null }, { config: withImage }],
    [{ MachineOSConfig: { CurrentImagePullSpec: 'img' } }, { config: withImage }],
    [
      { MOSC: 'mosc-2', MOSCImage: 'img' },
      { config: { ...withImage, metadata: { name: 'mosc-2' } } },
    ],
    [{ MOSB: { Name: 'm', Config: 'b', State: 'Failed' } }, { build: build('b', 'Failed', 'm') }],
    [{ MOSBMachineConfig: 'b' }, { build: build('b') }],
    [{ MachineOSBuild: { MachineConfig: 'b' } }, { build: build('b') }],
    [
      { MOSBName: 'm', MOSBFor: 'b', MOSBState: 'Succeeded' },
      { build: build('b', 'Succeeded', 'm') },
    ],
    [
      { MOSB: true, BuildSucceeded: true, BuildFailed: false },
      { build: build('own', 'Succeeded') },
    ],
    [{ MOSB: true, BuildState: 'Running' }, { build: build('own', 'Building') }],
    [{ MOSB: { Conditions: ['Interrupted'] } }, { build: build('own', 'Interrupted') }],
    [{ Layered: true, MOSC: 'img', MOSB: '' }, { config: withImage }],
    [{ Layered: false, Image: 'img', MOSBConfig: 'b' }, {}],
    [{ Layered: false, Image: '', BuildConfig: '', BuildState: '' }, {}],
    [{ MOSC: '', MOSCImage: '', MOSBConfig: '' }, {}],
    [{}, {}],
  ])('of its pool: %j', (input, expected) => {
    expect(layering(input)).toEqual(expected);
  });

  it.each([
    [{ Foo: 1 }, 'unknown key Foo'],
    [{ MOSBColour: 'x' }, 'unknown part Colour of a MOSB'],
    [{ MOSC: { Colour: 'x' } }, 'unknown part Colour of a MOSC'],
    [{ BuildState: 'x' }, 'BuildState: unknown state x of a build'],
    [{ Layered: 'yes' }, 'Layered is neither true nor false'],
    [{ MOSCImage: 3 }, 'MOSCImage is not a text'],
  ])('and nothing of it is passed over: %j', (input, message) => {
    expect(() => layering(input)).toThrow(message);
  });

  it('a node with an unknown key fails its case by name', async () => {
    const { failures } = await runFile({
      cases: [
        {
          input: { Name: 'one', Pool: 'worker', Nodes: [{ Name: 'n0', Colour: 'red' }] },
          expected: { Capacity: 1 },
        },
      ],
    });

    expect(failures).toEqual(['FAIL one\n  threw node n0: unknown key Colour']);
  });
});
