/** Seconds, as kubectl shows ages: `95` → `1m35s`, `7200` → `2h0m`, `200000` → `2d7h`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole}s`;
  if (whole < 3600) return `${Math.floor(whole / 60)}m${whole % 60}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)}h${Math.floor((whole % 3600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d${Math.floor((whole % 86_400) / 3600)}h`;
}

/** Since an RFC 3339 instant; `<unknown>` without one, as in kubectl. */
export function formatAge(instant: string | undefined, nowMs: number): string {
  return instant === undefined ? '<unknown>' : formatDuration((nowMs - Date.parse(instant)) / 1000);
}

/**
 * `90s`, `5m`, `1h30m`, or a bare number of seconds.
 *
 * @returns seconds; undefined for any other text
 */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const match = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(text);
  if (match === null || text === '') return undefined;
  const [hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0));
  return (hours ?? 0) * 3600 + (minutes ?? 0) * 60 + (seconds ?? 0);
}

/** Inverse of `parseDuration`: `7779600` → `2161h`, `3601` → `1h1s`. */
export function formatDurationFlag(seconds: number): string {
  if (!Number.isInteger(seconds)) return String(seconds);
  const parts = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor((seconds % 3600) / 60), 'm'],
    [seconds % 60, 's'],
  ] as const;
  const text = parts.map(([count, unit]) => (count === 0 ? '' : `${count}${unit}`)).join('');
  return text === '' ? '0s' : text;
}
