/**
 * Output of a command without a terminal, as it comes. Outside of preact, as a command may print
 * faster than a tree of components is compared: only text nodes and spans with fixed classes are
 * made, whatever is printed.
 */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { Client, ExecView } from '../../client/index.ts';
import { client, reasonOf } from '../live/connection.ts';
import { Problem } from '../parts/act.tsx';
import { bytesOf } from '../parts/time.tsx';
import { AnsiText } from '../text/ansi.ts';
import type { Run } from '../text/ansi.ts';

/** What is kept on the page, in characters; earlier output leaves it. */
const shownMax = 1_000_000;

interface Told {
  /** Bytes that are missing: no longer held, or gone from the page. */
  readonly missing: Signal<number>;
  readonly problem: Signal<string | null>;
  readonly waits: Signal<string | null>;
}

export function Output({ exec }: { readonly exec: ExecView }) {
  const box = useRef<HTMLPreElement>(null);
  const told: Told = {
    missing: useSignal(0),
    problem: useSignal<string | null>(null),
    waits: useSignal<string | null>(null),
  };
  const asks = client.value;
  const id = exec.exec_id;
  useEffect(() => {
    const page = box.current;
    if (asks === null || page === null) return undefined;
    const stop = new AbortController();
    page.replaceChildren();
    told.missing.value = 0;
    pour(asks, id, new Page(page, told.missing), { signal: stop.signal, told }).catch(() => {});
    return () => stop.abort(new DOMException('The view was left', 'AbortError'));
  }, [id, asks]);
  return (
    <section class="output" aria-label="Output">
      {told.missing.value > 0 && (
        <p class="quiet">{bytesOf(told.missing.value)} before this are not shown.</p>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls by keyboard */}
      <pre ref={box} class="printed" tabIndex={0} role="log" aria-label="What it printed" />
      {told.waits.value !== null && exec.state === 'running' && (
        <p class="quiet">It waits for input ({told.waits.value}).</p>
      )}
      <Problem of={told.problem.value} />
    </section>
  );
}

/** Follows the output to its end. Never rejects. */
async function pour(
  asks: Client,
  id: ExecView['exec_id'],
  page: Page,
  { signal, told }: { readonly signal: AbortSignal; readonly told: Told },
): Promise<void> {
  try {
    const stream = asks.attach(id, { signal, cancelOnAbort: false });
    const texts = {
      stdout: { decoder: new TextDecoder(), ansi: new AnsiText() },
      stderr: { decoder: new TextDecoder(), ansi: new AnsiText() },
    };
    for await (const event of stream) {
      if (event.type === 'output') {
        const { decoder, ansi } = texts[event.stream];
        told.waits.value = null;
        page.append(event.stream, ansi.push(decoder.decode(event.bytes, { stream: true })));
      } else if (event.type === 'gap') {
        told.missing.value += event.to - event.from;
      } else {
        told.waits.value = event.program;
      }
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      const { decoder, ansi } = texts[stream];
      page.append(stream, [...ansi.push(decoder.decode()), ...ansi.end()]);
    }
  } catch (error) {
    if (!signal.aborted) told.problem.value = reasonOf(error);
  }
}

class Page {
  readonly #box: HTMLElement;
  readonly #missing: Signal<number>;
  #shown = 0;

  constructor(box: HTMLElement, missing: Signal<number>) {
    this.#box = box;
    this.#missing = missing;
  }

  append(stream: 'stdout' | 'stderr', runs: readonly Run[]): void {
    if (runs.length === 0) return;
    const box = this.#box;
    const follows = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
    const part = document.createElement('span');
    part.className = stream;
    part.append(...runs.map(nodeOf));
    box.append(part);
    this.#shown += part.textContent.length;
    while (this.#shown > shownMax && box.firstChild !== null && box.firstChild !== part) {
      const gone = box.firstChild.textContent?.length ?? 0;
      this.#shown -= gone;
      this.#missing.value += gone;
      box.firstChild.remove();
    }
    if (follows) box.scrollTop = box.scrollHeight;
  }
}

function nodeOf(run: Run): Node {
  const { colour, ground, bold, italic, underline, inverse, escape } = run;
  const classes = [
    colour === null ? '' : `fg${colour}`,
    ground === null ? '' : `bg${ground}`,
    bold ? 'bold' : '',
    italic ? 'italic' : '',
    underline ? 'underline' : '',
    inverse ? 'inverse' : '',
    escape ? 'escape' : '',
  ].filter((name) => name !== '');
  const text = document.createTextNode(run.text);
  if (classes.length === 0) return text;
  const span = document.createElement('span');
  span.className = classes.join(' ');
  span.append(text);
  return span;
}
