/** Paths of fields, as steps and as text. */

export type FieldStep = string | number;

/** `spec.files[0].path`; unusual names stand in brackets. */
export function fieldText(path: readonly FieldStep[]): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    if (!/^[\w-]+$/.test(step)) return `${text}["${step}"]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}
