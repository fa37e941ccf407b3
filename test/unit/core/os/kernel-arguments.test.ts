import {
  kernelArgumentChanges,
  rpmOstreeKernelArguments,
  splitKernelArguments,
  withoutArgumentValue,
} from '../../../../core/os';

describe('splitting kernel arguments', () => {
  it.each([
    [['nosmt'], ['nosmt']],
    [['  a\tb\nc '], ['a', 'b', 'c']],
    [
      ['a=1 b=2', 'c'],
      ['a=1', 'b=2', 'c'],
    ],
    [['d="x y" e'], ['d="x y"', 'e']],
    [['f="unclosed and on'], ['f="unclosed and on']],
    [
      ['hugepagesz=1G hugepages=4', 'hugepagesz=2M hugepages=4'],
      ['hugepagesz=1G', 'hugepages=4', 'hugepagesz=2M', 'hugepages=4'],
    ],
    [['', ' '], []],
  ])('%j', (entries, expected) => {
    expect(splitKernelArguments(entries)).toEqual(expected);
  });
});

describe('the arguments of rpm-ostree kargs', () => {
  it('deletes all old ones, then appends all new ones, also those that stay', () => {
    expect(rpmOstreeKernelArguments(['a', 'b=1 c'], ['c', 'd="x y"'])).toEqual([
      '--delete-if-present=a',
      '--delete-if-present=b=1',
      '--delete-if-present=c',
      '--append=c',
      '--append=d="x y"',
    ]);
  });

  it('are none for none', () => {
    expect(rpmOstreeKernelArguments([], [])).toEqual([]);
  });
});

describe('an argument without its value', () => {
  it.each([
    ['nosmt', 'nosmt'],
    ['luks.key=s3cret', 'luks.key=…'],
    ['a=', 'a=…'],
    ['a=b=c', 'a=…'],
    ['d="x y"', 'd=…'],
    ['"dyndbg=file a +p"', 'dyndbg=…'],
    ['=s3cret', '=…'],
  ])('%s', (argument, expected) => {
    expect(withoutArgumentValue(argument)).toBe(expected);
  });
});

describe('which arguments come and go', () => {
  it.each([
    [['a', 'b'], ['b', 'c'], { add: ['c'], remove: ['a'] }],
    [['a b'], ['b', 'a'], { add: [], remove: [] }],
    [['hugepages=4'], ['hugepages=4 hugepages=4'], { add: ['hugepages=4'], remove: [] }],
    [['x', 'x'], ['x'], { add: [], remove: ['x'] }],
  ])('%j to %j', (before, after, expected) => {
    expect(kernelArgumentChanges(before, after)).toEqual(expected);
  });
});
