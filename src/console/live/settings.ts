/** A person's settings in this browser. They are not secret: they are in local storage. */
import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const prefix = 'trl.';

function kept<T extends string>(name: string, choices: readonly T[], usual: T) {
  const stored = localStorage.getItem(prefix + name);
  const chosen = signal<T>(choices.find((choice) => choice === stored) ?? usual);
  effect(() => localStorage.setItem(prefix + name, chosen.value));
  return chosen;
}

const theme = kept<Theme>('theme', ['system', 'light', 'dark'], 'system');
/** Whether a new approval request makes a sound. */
export const soundSetting = kept<'on' | 'off'>('sound', ['on', 'off'], 'on');
/** Whether single letters are shortcuts (WCAG 2.1.4 requires a way to switch them off). */
export const shortcutsSetting = kept<'on' | 'off'>('shortcuts', ['on', 'off'], 'on');

export function nextTheme(): void {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const isDark = theme.value === 'dark' || (theme.value === 'system' && dark);
  theme.value = isDark ? 'light' : 'dark';
}

/** Sets the theme where the style sheet reads it. */
export function applyTheme(): void {
  effect(() => {
    if (theme.value === 'system') delete document.documentElement.dataset['theme'];
    else document.documentElement.dataset['theme'] = theme.value;
  });
}
