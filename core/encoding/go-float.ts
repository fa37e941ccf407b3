/** Floating point numbers as Go's strconv writes them with the verb `g` and the fewest digits. */

/** @param bits - 32: the fewest digits that tell it from other numbers of single precision */
export function goFloat(value: number, bits: 32 | 64 = 64): string {
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponent = '0'] = scientific(value, bits).split('e');
  const power = Number(exponent);
  const digits = mantissa.replace(/[-.]/g, '');
  const sign = value < 0 ? '-' : '';
  if (power < -4 || power >= 6) {
    const size = String(Math.abs(power)).padStart(2, '0');
    return `${mantissa}e${power < 0 ? '-' : '+'}${size}`;
  }
  if (power < 0) return `${sign}0.${'0'.repeat(-power - 1)}${digits}`;
  const whole = digits.slice(0, power + 1).padEnd(power + 1, '0');
  const fraction = digits.slice(power + 1);
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

function scientific(value: number, bits: 32 | 64): string {
  if (bits === 64) return value.toExponential();
  const single = Math.fround(value);
  for (let digits = 0; digits < 9; digits++) {
    const text = value.toExponential(digits);
    if (Math.fround(Number(text)) === single) return text.replace(/\.?0+e/, 'e');
  }
  return single.toExponential();
}
