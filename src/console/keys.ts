/**
 * Keyboard shortcuts. The top view may bind keys; others are global. No key counts while the person
 * types, with a modifier, or when it repeats because it is held down.
 */
import { useLayoutEffect } from 'preact/hooks';
import { shortcutsSetting } from './live/settings.ts';

/** Gets the time of the press (`performance.now()`'s clock). Must not throw. */
export type KeyHandler = (at: number) => void;
export type KeyBindings = Readonly<Record<string, KeyHandler>>;

/** How long `g` waits for the letter of a view, in `ms`. */
const prefixMs = 1_500;

const stack: { bindings: KeyBindings }[] = [];
let prefix: { key: string; at: number } | null = null;

/** Binds keys while the component is mounted. A two-letter name is a prefix and a letter: `ga`. */
export function useKeyBindings(bindings: KeyBindings): void {
  // Before it is painted: the person may press a key as soon as they see it.
  useLayoutEffect(() => {
    const entry = { bindings };
    stack.push(entry);
    return () => {
      stack.splice(stack.indexOf(entry), 1);
    };
  });
}

export function listenForKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === 'Escape' && isField(event.target)) event.target.blur();
    if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
    if (shortcutsSetting.value === 'off') return;
    const name = nameOf(event);
    const found = stack.findLast(({ bindings }) => Object.hasOwn(bindings, name));
    const press = found?.bindings[name];
    if (press === undefined) return;
    event.preventDefault();
    press(event.timeStamp);
  });
}

function nameOf({ key, timeStamp }: KeyboardEvent): string {
  const before = prefix;
  prefix = null;
  if (before !== null && timeStamp - before.at < prefixMs) return `${before.key}${key}`;
  if (key === 'g') prefix = { key, at: timeStamp };
  return key;
}

function isField(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input, textarea, select, .xterm') !== null)
  );
}

/** Moves the focus among the rows of the view; from outside to the first one. */
export function moveFocus(step: 1 | -1): void {
  const rows = [...document.querySelectorAll('[data-row]')].filter(
    (row) => row instanceof HTMLElement,
  );
  const at = rows.findIndex((row) => row === document.activeElement);
  const next = rows[at === -1 ? 0 : Math.min(rows.length - 1, Math.max(0, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** Focuses the filter of the view, if it has one. */
export function focusFilter(): void {
  const filter = document.querySelector('[data-filter]');
  if (filter instanceof HTMLInputElement || filter instanceof HTMLTextAreaElement) filter.select();
}
