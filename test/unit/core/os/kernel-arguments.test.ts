import {
  grubSyntaxIn,
  hasArgument,
  kernelArgumentChanges,
  missingArguments,
  rpmOstreeKernelArguments,
  sameArguments,
  singleArguments,
  spelledAs,
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
    [['c="all"', 'd="e f" g'], ['c=all "d=e f"', 'g'], { add: [], remove: [] }],
    [['console=tty0 console="ttyS0"'], ['console=ttyS0'], { add: [], remove: ['console=tty0'] }],
    [['k=a', 'k="a"'], ['k="a"'], { add: [], remove: ['k=a'] }],
    [[], ['', ' '], { add: [], remove: [] }],
  ])('%j to %j', (before, after, expected) => {
    expect(kernelArgumentChanges(before, after)).toEqual(expected);
  });
});

describe('one argument, in whatever spelling', () => {
  it.each([
    ['cgroup_no_v1="all"', 'cgroup_no_v1=all', '"cgroup_no_v1=all"'],
    ['dyndbg="file foo.c +p"', '"dyndbg=file foo.c +p"', 'dyndbg=file" foo.c "+p'],
    ['acpi_osi="!Windows 2012"', '"acpi_osi=!Windows 2012"', '"acpi_osi"="!Windows 2012"'],
    ['a="b"c', 'a=bc', '"a=bc"'],
    ['acpi_osi=', 'acpi_osi=""', '"acpi_osi="'],
    ['nosmt', '"nosmt"', 'no"smt"'],
  ])('%s, %s, %s', (...spellings) => {
    for (const one of spellings) {
      expect(splitKernelArguments([one])).toEqual([one]);
      for (const other of spellings) {
        expect(hasArgument(['ro', other], one)).toBe(true);
        expect(sameArguments([`ro ${one}`], ['ro', other])).toBe(true);
        expect(spelledAs([one], ['ro', other])).toEqual([other]);
      }
    }
  });

  it.each([
    ["acpi_osi='Linux'", 'acpi_osi=Linux'],
    ["dyndbg='file a.c +p'", '"dyndbg=file a.c +p"'],
    ['x="it\'s a"', `"x=it\\'s a"`],
    ["x=it\\'s", "x=it\\'s"],
    [String.raw`memmap=64M\$0x1000`, 'memmap=64M$0x1000'],
    [String.raw`path=a\\b`, String.raw`path=a\\b`],
  ])('%s as the config has it, %s as GRUB hands it over', (written, given) => {
    const running = splitKernelArguments([`ro ${given} quiet`]);
    expect(missingArguments([written, 'quiet'], running)).toEqual([]);
    expect(missingArguments([written], ['ro', 'quiet'])).toEqual([written]);
    expect(hasArgument(running, written)).toBe(true);
    expect(kernelArgumentChanges([`${written} quiet`], ['quiet', given])).toEqual({
      add: [],
      remove: [],
    });
  });

  it('takes a single quote that nothing closes for a letter', () => {
    expect(singleArguments(["x=it's", 'ro', 'quiet'])).toEqual(["x=it's", 'ro', 'quiet']);
    expect(missingArguments(["x=it's", 'ro'], ["x=it's", 'ro'])).toEqual([]);
  });

  it('tells nothing of a value that single quotes hold together', () => {
    const { add } = kernelArgumentChanges([], ["luks.key='top very secret' quiet"]);
    expect(add.map(withoutArgumentValue)).toEqual(['luks.key=…', 'quiet']);
  });

  it.each([
    ['k=a', 'k=ab'],
    ['k=a', 'xk=a'],
    ['k="a b"', 'k=a'],
    ['acpi_osi=', 'acpi_osi'],
    // The kernel takes these two for one name; systemd and dracut do not, and no boot loader changes them.
    ['rd-neednet=1', 'rd_neednet=1'],
    ['K=a', 'k=a'],
  ])('%s is not %s', (one, other) => {
    expect(hasArgument([one], other)).toBe(false);
    expect(hasArgument([other], one)).toBe(false);
    expect(sameArguments([one], [other])).toBe(false);
  });

  it('keeps order and repetitions, and does not count what says nothing', () => {
    expect(sameArguments(['console=tty0 console=ttyS0'], ['console=ttyS0 console=tty0'])).toBe(
      false,
    );
    expect(sameArguments(['a', 'a'], ['a'])).toBe(false);
    expect(sameArguments(['', ' ', '""', 'a'], ['"a"'])).toBe(true);
    expect(missingArguments(['', '""', 'a="x" b'], ['a=x'])).toEqual(['b']);
  });

  it('keeps the spelling on the machine, each occurrence once, the same text first', () => {
    expect(spelledAs(['k="a" k=a', 'gone'], ['k=a', 'k="a"', 'k=a'])).toEqual([
      'k="a"',
      'k=a',
      'gone',
    ]);
    expect(spelledAs(['k="a"', 'k="a"'], ['"k=a"'])).toEqual(['"k=a"', 'k="a"']);
  });
});

it.each([
  ['memmap=4G$4G', '$'],
  ['dyndbg="file $a +p"', '$'],
  ['a=b;c', ';'],
  ['memmap=4G\\$4G', undefined],
  ["'a=b;$c'", undefined],
  ['dyndbg="file a +p; file b +p"', undefined],
  ['crashkernel=1G-4G:192M,4G-:256M', undefined],
])('GRUB reads of %s as its own: %s', (entry, letter) => {
  expect(grubSyntaxIn(entry)).toBe(letter);
});
