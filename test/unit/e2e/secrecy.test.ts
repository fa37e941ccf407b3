import { placesOf } from '../../e2e/support/secrecy';

const SECRET = 'kT7-secret-of-a-machine/9+';

it.each([0, 1, 2, 3])('a secret is found in base64 behind %i other bytes', (before) => {
  const bytes = Buffer.from(`${'x'.repeat(before)}${SECRET} and more`);
  const places = new Map([
    ['base64', `{"data":"${bytes.toString('base64')}"}`],
    ['base64url', bytes.toString('base64url')],
  ]);

  expect(placesOf([SECRET], places)).toEqual(['base64', 'base64url']);
});

it.each([
  ['as it is', `error: ${SECRET}`],
  ['in a data URL', `data:,${encodeURIComponent(`a=${SECRET}\n`)}`],
  ['in hex', Buffer.from(`a=${SECRET}\n`).toString('hex')],
])('a secret is found %s', (_how, text) => {
  expect(placesOf([SECRET], new Map([['there', text]]))).toEqual(['there']);
});

it('other texts are none', () => {
  const text = Buffer.from('kT7-secret-of-another-machine').toString('base64');

  expect(placesOf([SECRET], new Map([['there', `kT7-secret ${text}`]]))).toEqual([]);
});
