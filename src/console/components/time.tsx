/** Times for people: how long ago, and durations. */
import { signal } from '@preact/signals';

/** Unix ms, updated once a second while the page is open. */
export const currentTimeMs = signal(Date.now());

export function startClock(): void {
  setInterval(() => {
    if (document.visibilityState === 'visible') currentTimeMs.value = Date.now();
  }, 1_000);
}

/** `12 s`, `3 min`, `2 h`, `4 d` of milliseconds. */
export function formatTimeSpan(ms: number): string {
  const s = Math.max(0, ms) / 1_000;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

/** A duration: `340 ms`, `1.2 s`, `3 min 5 s`. */
export function formatElapsedTime(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function formatByteCount(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

export function TimeAgo({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {formatTimeSpan(currentTimeMs.value - Date.parse(at))} ago
    </time>
  );
}

export function TimeUntil({ at }: { readonly at: string }) {
  const left = Date.parse(at) - currentTimeMs.value;
  return (
    <time dateTime={at} title={at}>
      {left > 0 ? `${formatTimeSpan(left)} left` : 'over'}
    </time>
  );
}
