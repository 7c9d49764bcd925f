/** Times for people: how long ago, how long it took. */
import { signal } from '@preact/signals';

/** Unix ms, moved once a second while the page is open. */
export const now = signal(Date.now());

export function followTime(): void {
  setInterval(() => {
    if (document.visibilityState === 'visible') now.value = Date.now();
  }, 1_000);
}

/** `12 s`, `3 min`, `2 h`, `4 d` of milliseconds. */
export function spanOf(ms: number): string {
  const s = Math.max(0, ms) / 1_000;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3_600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3_600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

/** How long something took: `340 ms`, `1.2 s`, `3 min 5 s`. */
export function tookOf(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function bytesOf(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`;
  if (bytes < 1_048_576) return `${(bytes / 1_024).toFixed(1)} KiB`;
  return `${(bytes / 1_048_576).toFixed(1)} MiB`;
}

export function Ago({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={at}>
      {spanOf(now.value - Date.parse(at))} ago
    </time>
  );
}

export function Until({ at }: { readonly at: string }) {
  const left = Date.parse(at) - now.value;
  return (
    <time dateTime={at} title={at}>
      {left > 0 ? `${spanOf(left)} left` : 'over'}
    </time>
  );
}
