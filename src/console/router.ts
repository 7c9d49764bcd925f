/** Where the person is: `#/approvals/a-…` is the view `approvals` with the rest `a-…`. */
import { signal } from '@preact/signals';

export interface Place {
  readonly view: string;
  /** What is behind the view's name, decoded; '' for none. */
  readonly rest: string;
}

function read(): Place {
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

export const place = signal<Place>({ view: 'overview', rest: '' });

export function followAddress(): void {
  place.value = read();
  addEventListener('hashchange', () => {
    place.value = read();
  });
}

export const addressOf = (view: string, rest = ''): string =>
  `#/${view}${rest === '' ? '' : `/${encodeURIComponent(rest)}`}`;

export function go(view: string, rest = ''): void {
  location.hash = addressOf(view, rest);
}
