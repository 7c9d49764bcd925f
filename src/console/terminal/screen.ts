/**
 * xterm under the page's policy, in its own chunk. Output only draws: the terminal answers no
 * query, because the answer would be typed into the command.
 */
import { FitAddon } from '@xterm/addon-fit';
import { Terminal } from '@xterm/xterm';
import { createStrictDocument } from './strict-document.ts';

export interface TerminalScreen {
  /** Settles when the bytes are drawn, so that a fast command is paused. */
  write(bytes: Uint8Array): Promise<void>;
  focus(): void;
  close(): void;
}
export interface TerminalScreenOptions {
  /** Keys and pastes of the person. */
  readonly onInput: (data: string) => void;
  readonly onResize: (columns: number, rows: number) => void;
}

const scrollbackLines = 5_000;
const repeatedMax = 9_999;

export function openTerminalScreen(
  box: HTMLElement,
  { onInput: typed, onResize: resized }: TerminalScreenOptions,
): TerminalScreen {
  loadStyle();
  const page = createStrictDocument(document);
  const terminal = new Terminal({
    documentOverride: page.document,
    scrollback: scrollbackLines,
    fontFamily: 'ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    fontSize: 13,
    screenReaderMode: true,
    minimumContrastRatio: 4.5,
    // Links that a command prints are text.
    linkHandler: { activate: () => {} },
    theme: themeOf(box),
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  neverAnswer(terminal);
  page.within(() => terminal.open(box));
  terminal.onData(typed);
  terminal.onResize(({ cols, rows }) => resized(cols, rows));
  const fitted = (): void => {
    if (box.clientWidth > 0) fit.fit();
  };
  const watching = new ResizeObserver(fitted);
  watching.observe(box);
  fitted();
  return {
    write: (bytes) => new Promise((resolve) => terminal.write(bytes, resolve)),
    focus: () => terminal.focus(),
    close: () => {
      watching.disconnect();
      terminal.dispose();
      page.release();
    },
  };
}

/**
 * Consumes every sequence that makes a terminal type: DA, DSR, DECRQM, XTVERSION, colours, sizes.
 */
function neverAnswer({ parser }: Terminal): void {
  const done = (): boolean => true;
  for (const prefix of ['', '>', '=', '?']) {
    const start = prefix === '' ? {} : { prefix };
    for (const final of ['c', 'n', 'q', 'u']) {
      // Without a prefix, `u` restores the cursor.
      if (prefix !== '' || final === 'c' || final === 'n') {
        parser.registerCsiHandler({ ...start, final }, done);
      }
    }
    parser.registerCsiHandler({ ...start, intermediates: '$', final: 'p' }, done);
  }
  parser.registerCsiHandler({ final: 't' }, done);
  parser.registerDcsHandler({ intermediates: '$', final: 'q' }, done);
  parser.registerDcsHandler({ intermediates: '+', final: 'q' }, done);
  parser.registerEscHandler({ final: 'Z' }, done);
  // An endlessly repeated character would keep the page busy.
  parser.registerCsiHandler({ final: 'b' }, ([count]) => Number(count) > repeatedMax);
  for (const code of [4, 5, 8, 10, 11, 12, 52]) parser.registerOscHandler(code, done);
}

function themeOf(box: HTMLElement) {
  const style = getComputedStyle(box);
  const of = (name: string): string => style.getPropertyValue(name).trim();
  return {
    background: of('--screen'),
    foreground: of('--screen-text'),
    cursor: of('--screen-text'),
    cursorAccent: of('--screen'),
    selectionBackground: of('--screen-selected'),
  };
}

function loadStyle(): void {
  const href = '/assets/terminal-style.css';
  if (document.querySelector(`link[href="${href}"]`) !== null) return;
  const style = document.createElement('link');
  style.rel = 'stylesheet';
  style.href = href;
  document.head.append(style);
}
