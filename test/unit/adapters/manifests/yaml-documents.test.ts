import { readYaml } from '../../../../adapters/manifests';

function only(text: string): unknown {
  const { documents, problems } = readYaml(text);
  expect(problems).toEqual([]);
  expect(documents).toHaveLength(1);
  return documents[0]?.value;
}

describe('values are those that kubectl reads', () => {
  it('octal modes, words for booleans, times', () => {
    expect(only('mode: 0644\nenabled: yes\nat: 2001-12-14\nport: 22:22\nnone:\n')).toEqual({
      mode: 420,
      enabled: true,
      at: '2001-12-14',
      port: '22:22',
      none: null,
    });
  });

  it('quotes and !!str keep a text', () => {
    expect(only(`a: '0644'\nb: "yes"\nc: !!str 0644\nd: |\n  yes\n`)).toEqual({
      a: '0644',
      b: 'yes',
      c: '0644',
      d: 'yes\n',
    });
  });

  it('names of fields are texts', () => {
    expect(only('1: a\ntrue: b\n')).toEqual({ '1': 'a', true: 'b' });
  });

  it('anchors, aliases and merges', () => {
    const text = 'base: &base {a: 1, b: 2}\none:\n  <<: *base\n  b: 3\ntwo: *base\n';
    expect(only(text)).toMatchObject({ one: { a: 1, b: 3 }, two: { a: 1, b: 2 } });
  });

  it('a merge gives way to the fields behind it, and not to those before', () => {
    const text =
      'base: &base {a: 1, b: 2}\nlist: [&c {c: 3, b: 9}]\nx:\n  a: 7\n  <<: [*base, *c]\n  c: 8\n';
    expect(only(text)).toMatchObject({ x: { a: 1, b: 2, c: 8 } });
  });

  it('a field called __proto__ is a field', () => {
    const value = only('__proto__: {x: 1}\n') as object;
    expect(Object.keys(value)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it('JSON, indented with tabs', () => {
    expect(only('{\n\t"a": "x\\/y",\n\t"b": [1, "\\ud83d\\ude00"]\n}\n')).toEqual({
      a: 'x/y',
      b: [1, '😀'],
    });
  });

  it('objects of JSON one after another, then YAML', () => {
    const values = (text: string): unknown => readYaml(text).documents.map(({ value }) => value);
    expect(values('{"a": "}\\"\\/"}{"b": 2}\n{"c": 3}\n')).toEqual([
      { a: '}"/' },
      { b: 2 },
      { c: 3 },
    ]);
    expect(values('{"a": "\\/"}\t\n---\nb: 2\n---\n{c: 3}\n')).toEqual([
      { a: '/' },
      { b: 2 },
      { c: 3 },
    ]);
    expect(readYaml('{"a": 1}\n{"b": 2,\n"b": 3}\n').problems).toMatchObject([{ line: 3 }]);
  });

  it('half a character of JSON', () => {
    expect(only('{"a": "x\\ud800y"}')).toEqual({ a: 'x\ufffdy' });
  });

  it('concatenated files, each with its byte order mark', () => {
    const { documents, problems } = readYaml('a: 1\n---\n\ufeffb: 2\nc: 3\n---\r\n\ufeffd: 4\n');
    expect(problems).toEqual([]);
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { b: 2, c: 3 }, { d: 4 }]);
    expect(documents.map(({ placeOf }) => placeOf([]).line)).toEqual([1, 3, 6]);
  });

  it.each([
    ['behind a value and before a comment', 'a:\t1\t# c\nb: "x"\t\t# c\nc: &x\t!!str\ty\t\n', 'y'],
    ['in brackets and braces', 'a: {\n  \tb: 1,\n \tc: [x,\ty]}\nc: 1\n', 1],
    ['in quotes', `a: "x\ty"\nb: 'x\ty'\nc: 1\n`, 1],
    ['in a block', 'a: |\n  x\n  \ty\n  \t\nb: |2\n  \tx\nc: >-\n  p\tq\n\n  \tr\n', 'p\tq\n\n\tr'],
    ['behind ---', 'a: 1\n---\t# c\nc: 1\n', 1],
    ['behind the end of a document', 'a: 1\n...\n\t# c\n---\nc: 1\n', 1],
    [
      'in an empty line behind a plain text, as deep as that',
      'a: x\n \t\nb: y\n  \t# c\nc: 1\n',
      1,
    ],
    ['in a text of several lines', 'c: x\n \ty\n', 'x y'],
    ['behind the header of a block', 'a: |\t# c\n  x\nc: 1\n', 1],
  ])('tabs %s', (_where, text, c) => {
    const { documents, problems } = readYaml(text);
    expect(problems).toEqual([]);
    expect(documents.at(-1)?.value).toMatchObject({ c });
  });

  it('lines end at a carriage return and at a NEL, too, and comments with them', () => {
    expect(only('a: 1 # one\rb: |\r  x\r\r  y\rc: "p\r  q"\r\nd: r\u0085  s\n')).toEqual({
      a: 1,
      b: 'x\n\ny\n',
      c: 'p q',
      d: 'r s',
    });
  });

  it('a NEL in a text of JSON is one', () => {
    expect(only('{\r"a": "p\u0085q"}')).toEqual({ a: 'p\u0085q' });
  });

  it('empty documents do not count', () => {
    const { documents, problems } = readYaml('---\n# nothing\n---\na: 1\n---\n...\n');
    expect(problems).toEqual([]);
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }]);
    expect(readYaml('')).toEqual({ documents: [], problems: [] });
  });
});

describe('problems', () => {
  it.each<[string, string, number, RegExp]>([
    ['a tab that indents', 'a:\n\tb: 1\n', 2, /tab/],
    ['wrong indentation', 'a:\n  b: 1\n c: 2\n', 3, /./],
    ['an open quote', 'a: "secret-text\nb: 1\n', 3, /missing/],
    ['a field twice', 'a: 1\nb: 2\na: 3\n', 3, /twice/],
    ['an unknown alias', 'a: *nobody\n', 1, /anchor|alias/],
    ['a tag of somebody else', 'a: !secret x\n', 1, /tag/],
    ['an infinite number', 'a: 1\nb: .inf\n', 2, /finite/],
    ['a field without a name', '? \n: 1\n', 1, /name of a field/],
    ['a control character in quotes', 'a: 1\nb: "\u001b[1msecret"\n', 2, /control character/],
    ['a control character of the other kind', '# secret \u009b\na: 1\n', 1, /control character/],
    ['a control character in JSON', '{"a": 1,\n"b": "secret\u0007"}', 2, /control character/],
    ['a tab after a dash', 'a:\n  - \tsecret\n', 2, /tab/],
    ['a tab after the question mark of a field', '?\ta\n: 1\n', 1, /tab/],
    ['a tab that indents a value', 'a:\n    \tsecret\n', 2, /tab/],
    ['a line of a tab', 'a:\n\t\n  - b\n', 2, /tab/],
    ['a line of blanks and a tab', 'a:\n  \t\n  - b\n', 2, /tab/],
    ['a comment behind a tab', 'a: "x"\n\t# secret\n', 2, /tab/],
    ['a tab in an empty line, less deep than the text before', 'a:\n  b: x\n \t\n', 3, /tab/],
    ['a tab in an empty line of a block', 'a:\n  b: |\n    x\n  \t\n    y\n', 4, /tab/],
    ['a tab before the text of a block', 'a: |\n \tx\n', 2, /tab/],
    ['an escaped slash', 'a: 1\nb: "secret\\/"\n', 2, /slash/],
    ['an escaped slash in what is nearly JSON', '{"a": "secret\\/",}\n', 1, /slash/],
    ['an escape of half a character', 'a: "secret\\ud83d\\ude00"\n', 1, /no character/],
    ['an escape of no character', 'a: "\\U00110000"\n', 1, /no character/],
    ['a directive', '%YAML 1.1\n---\na: 1\n', 1, /directive/],
    ['a directive of nobody', '# secret\n%SECRET bar\n---\na: 1\n', 2, /directive/],
    ['a document after the end of one', 'a: 1\n...\n# c\nb: 2\n', 4, /without ---/],
    ['a text behind ---', 'a: 1\n--- {b: 2}\n', 2, /goes on/],
    ['a line that begins too early behind a carriage return', 'a:\n  b: |\n    x\ry\n', 4, /./],
  ])('%s', (_what, text, line, problem) => {
    const read = readYaml(text);
    expect(read.documents).toEqual([]);
    expect(read.problems[0]).toMatchObject({
      line,
      problem: expect.stringMatching(problem) as string,
    });
    expect(JSON.stringify(read.problems)).not.toContain('secret');
  });

  it('something else behind objects of JSON', () => {
    const { documents, problems } = readYaml('{"a": 1}\n{"b": 2}\n---\nc: 3\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { b: 2 }]);
    expect(problems).toMatchObject([{ line: 3, problem: expect.stringMatching(/JSON/) as string }]);
  });

  it('in one document leave the others alone', () => {
    const { documents, problems } = readYaml('a: 1\n---\na: 1\na: 2\n---\nb: 1\n');
    expect(documents.map(({ value }) => value)).toEqual([{ a: 1 }, { b: 1 }]);
    expect(problems.map(({ line }) => line)).toEqual([4]);
  });

  it('aliases of aliases end', () => {
    const levels = Array.from({ length: 12 }, (_, i) => {
      const alias = `*l${i}`;
      return `l${i + 1}: &l${i + 1} [${Array.from({ length: 9 }, () => alias).join(', ')}]`;
    });
    const { problems } = readYaml(`l0: &l0 [x]\n${levels.join('\n')}\n`);
    expect(problems.map(({ problem }) => problem)).toContain(
      'too many or too deeply nested values',
    );
  });

  it('an alias of itself ends', () => {
    expect(readYaml('a: &a [*a]\n').problems).not.toEqual([]);
  });
});

it('knows the line of a field, or of the nearest thing around it', () => {
  const text = 'kind: X\nspec:\n  files:\n    - path: /a\n    - path: /b\n      mode: 1\n';
  const [document] = readYaml(text).documents;
  const line = (...path: (string | number)[]): number | undefined => document?.placeOf(path).line;
  expect(line('spec', 'files', 1, 'mode')).toBe(6);
  expect(line('spec', 'files', 1)).toBe(5);
  expect(line('spec', 'files', 1, 'contents', 'source')).toBe(5);
  expect(line('spec', 'files', 7)).toBe(3);
  expect(line('status')).toBe(1);
  expect(document?.placeOf(['spec', 'files', 1, 'mode'])).toEqual({ line: 6, column: 7 });
});
