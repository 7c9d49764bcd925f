/**
 * Output of a command without a terminal, as it comes. Not by preact, because a command may print
 * faster than a component tree is compared: only text nodes and spans with fixed classes are
 * created, whatever is printed.
 */
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Signal } from '@preact/signals';
import type { Client, ExecView } from '../../client/index.ts';
import { currentClient, describeError } from '../live/connection.ts';
import { ActionError } from '../components/action.tsx';
import { formatByteCount } from '../components/time.tsx';
import { AnsiParser } from '../text/ansi.ts';
import { OutputLog } from './output-log.ts';

interface OutputState {
  /** Missing bytes: no longer stored, or removed from the page. */
  readonly missing: Signal<number>;
  readonly problem: Signal<string | null>;
  readonly waits: Signal<string | null>;
}

export function OutputPane({ exec }: { readonly exec: ExecView }) {
  const box = useRef<HTMLPreElement>(null);
  const told: OutputState = {
    missing: useSignal(0),
    problem: useSignal<string | null>(null),
    waits: useSignal<string | null>(null),
  };
  const asks = currentClient.value;
  const id = exec.exec_id;
  useEffect(() => {
    const page = box.current;
    if (asks === null || page === null) return undefined;
    const stop = new AbortController();
    page.replaceChildren();
    told.missing.value = 0;
    pour(asks, id, new OutputLog(page, told.missing), { signal: stop.signal, told }).catch(
      () => {},
    );
    return () => stop.abort(new DOMException('The view was left', 'AbortError'));
  }, [id, asks]);
  return (
    <section class="output" aria-label="Output">
      {told.missing.value > 0 && (
        <p class="quiet">{formatByteCount(told.missing.value)} before this are not shown.</p>
      )}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls by keyboard */}
      <pre ref={box} class="printed" tabIndex={0} role="log" aria-label="What it printed" />
      {told.waits.value !== null && exec.state === 'running' && (
        <p class="quiet">It waits for input ({told.waits.value}).</p>
      )}
      <ActionError of={told.problem.value} />
    </section>
  );
}

/** Follows the output to its end. Never rejects. */
async function pour(
  asks: Client,
  id: ExecView['exec_id'],
  page: OutputLog,
  { signal, told }: { readonly signal: AbortSignal; readonly told: OutputState },
): Promise<void> {
  try {
    const stream = asks.attach(id, { signal, cancelOnAbort: false });
    const texts = {
      stdout: { decoder: new TextDecoder(), ansi: new AnsiParser() },
      stderr: { decoder: new TextDecoder(), ansi: new AnsiParser() },
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
    if (!signal.aborted) told.problem.value = describeError(error);
  }
}
