import { expectUndone } from '../../unit/adapters/host/undo-property';

it(
  'a journal gives back every bit, whatever was there and whatever came',
  () => expectUndone(150),
  300_000,
);
