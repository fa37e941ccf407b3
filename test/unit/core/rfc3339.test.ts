import { rfc3339 } from '../../../core/rfc3339';

it('writes an instant as Kubernetes does', () => {
  const at = Date.parse('2030-01-01T00:00:00.999Z');
  expect(rfc3339(at)).toBe('2030-01-01T00:00:00Z');
  expect(rfc3339(new Date(at))).toBe('2030-01-01T00:00:00Z');
});
