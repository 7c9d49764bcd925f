/** Where the person is: `#/approvals/a-…` is the view `approvals` with the rest `a-…`. */
import { signal } from '@preact/signals';

export interface ConsoleLocation {
  readonly view: string;
  /** What is behind the view's name, decoded; '' for none. */
  readonly rest: string;
}

function read(): ConsoleLocation {
  const [, view = '', rest = ''] = /^#\/([a-z]*)(?:\/([^/]*))?$/.exec(location.hash) ?? [];
  return { view: view === '' ? 'overview' : view, rest: decoded(rest) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

export const currentLocation = signal<ConsoleLocation>({ view: 'overview', rest: '' });

export function followLocation(): void {
  currentLocation.value = read();
  addEventListener('hashchange', () => {
    currentLocation.value = read();
  });
}

export const consoleHref = (view: string, rest = ''): string =>
  `#/${view}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`;

export function navigateTo(view: string, rest = ''): void {
  location.hash = consoleHref(view, rest);
}
