/** The current view: `#/approvals/a-…` is the view `approvals` with the rest `a-…`. */
import { signal } from '@preact/signals';
import type { ExecView } from '../client/index.ts';

export interface ConsoleLocation {
  readonly view: string;
  /** The part after the view's name, decoded; '' for none. */
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

/** Ids in addresses. */
export const isExecId = (text: string): text is ExecView['exec_id'] =>
  /^x-[0-9a-f]{32}$/.test(text);
