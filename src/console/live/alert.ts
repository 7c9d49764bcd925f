/**
 * Notifies a person whose attention is elsewhere of a pending approval: title, icon, sound, live
 * region.
 */
import { effect, signal } from '@preact/signals';
import { toCommandSummary } from '../text/visible.ts';
import { soundSetting } from './settings.ts';
import { pendingApprovals, secretRequests } from './store.ts';

/** The next announcement for screen readers; a live region shows it. */
export const announcement = signal('');

export function announce(text: string): void {
  // A repeated text would be read only once: the space makes it different.
  announcement.value = announcement.peek() === text ? `${text} ` : text;
}

/** Follows the store until the page ends. */
export function startAlerts(): void {
  let known = new Set<string>();
  effect(() => {
    const now = pendingApprovals.value;
    const fresh = now.filter(({ approval_id: id }) => !known.has(id));
    known = new Set(now.map(({ approval_id: id }) => id));
    const [newest] = fresh;
    if (newest === undefined) return;
    announce(
      fresh.length === 1
        ? `New approval request: ${toCommandSummary(newest.asked.command, 200)}`
        : `${fresh.length} new approval requests`,
    );
    if (soundSetting.peek() === 'on') beep();
  });
  effect(() => {
    const count = pendingApprovals.value.length + secretRequests.value.length;
    waitingCount.value = count;
    showOnIcon(count);
  });
}

/** Pending approvals and secret requests. */
export const waitingCount = signal(0);

let audio: AudioContext | null = null;

/**
 * Two soft tones. Browsers play none before a person has touched the page: then there is no sound.
 */
function beep(): void {
  try {
    audio ??= new AudioContext();
    const start = audio.currentTime;
    for (const [at, hertz] of [
      [0, 660],
      [0.14, 880],
    ] as const) {
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = hertz;
      volume.gain.setValueAtTime(0, start + at);
      volume.gain.linearRampToValueAtTime(0.08, start + at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, start + at + 0.25);
      tone.connect(volume).connect(audio.destination);
      tone.start(start + at);
      tone.stop(start + at + 0.3);
    }
  } catch {
    // Without sound the title and the icon still notify.
  }
}

function showOnIcon(count: number): void {
  const icon = document.querySelector('link[rel=icon]');
  if (!(icon instanceof HTMLLinkElement)) return;
  const dot = count > 0 ? '<circle cx="24" cy="8" r="8" fill="%23d97706"/>' : '';
  const prompt = '<path d="M9 11l6 5-6 5M17 22h7" fill="none" stroke="white" stroke-width="3"/>';
  const background = '<rect width="32" height="32" rx="7" fill="%23334155"/>';
  const open = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">';
  icon.href = `data:image/svg+xml,${open}${background}${prompt}${dot}</svg>`.replaceAll('"', "'");
}
