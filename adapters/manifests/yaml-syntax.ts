/** Never quotes the text. */

import type { ErrorCode } from 'yaml';

const INDENT = 'indent with spaces, fields of one object equally deep';
const QUOTE = 'put the text into single quotes';

export const SYNTAX: Readonly<
  Record<ErrorCode, { readonly problem: string; readonly fix: string }>
> = {
  ALIAS_PROPS: { problem: 'an alias has an anchor or a tag', fix: 'leave only the alias' },
  BAD_ALIAS: { problem: 'an alias is not well-formed', fix: QUOTE },
  BAD_COLLECTION_TYPE: { problem: 'a tag does not fit its value', fix: 'remove the tag' },
  BAD_DIRECTIVE: { problem: 'a line with % is no directive', fix: 'remove the line' },
  BAD_DQ_ESCAPE: {
    problem: 'a backslash in double quotes escapes nothing',
    fix: 'double it, or use single quotes',
  },
  BAD_INDENT: { problem: 'wrong indentation', fix: INDENT },
  BAD_PROP_ORDER: {
    problem: 'an anchor or tag is in the wrong place',
    fix: 'put it directly before the value',
  },
  BAD_SCALAR_START: { problem: 'a text begins with a reserved character', fix: QUOTE },
  BLOCK_AS_IMPLICIT_KEY: { problem: 'a block begins where a value should be', fix: INDENT },
  BLOCK_IN_FLOW: {
    problem: 'a block stands inside brackets or braces',
    fix: 'write it in brackets, too, or close them before it',
  },
  DUPLICATE_KEY: { problem: 'the field is there twice', fix: 'keep one of the two' },
  IMPOSSIBLE: { problem: 'not readable as YAML', fix: 'correct the line' },
  KEY_OVER_1024_CHARS: { problem: 'the name of a field is too long', fix: 'shorten it' },
  MISSING_CHAR: {
    problem: 'a character is missing: a closing quote, bracket or brace, a colon, or a blank',
    fix: 'add it',
  },
  MULTILINE_IMPLICIT_KEY: {
    problem: 'the name of a field goes over several lines',
    fix: 'add the missing colon, or correct the indentation',
  },
  MULTIPLE_ANCHORS: { problem: 'a value has two anchors', fix: 'keep one' },
  MULTIPLE_DOCS: { problem: 'a second document begins', fix: 'begin it with a line ---' },
  MULTIPLE_TAGS: { problem: 'a value has two tags', fix: 'keep one' },
  NON_STRING_KEY: { problem: 'the name of a field is no text', fix: QUOTE },
  RESOURCE_EXHAUSTION: { problem: 'nested too deeply', fix: 'nest less' },
  TAB_AS_INDENT: { problem: 'a tab indents', fix: 'indent with spaces' },
  TAG_RESOLVE_FAILED: { problem: 'a tag is not known', fix: 'remove it' },
  UNEXPECTED_TOKEN: {
    problem: 'something stands where nothing is expected',
    fix: 'check the indentation, and quote texts with ": ", " #", brackets or braces',
  },
};
