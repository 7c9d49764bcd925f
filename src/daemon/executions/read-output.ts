/** Reading an execution's output: to its end for an answer, live for a stream, or a range. */
import type { ExecId } from '../../command.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { OutputCollector, type CollectedOutput } from '../../output/output-collector.ts';
import type { RunnerLink } from '../../process/runner-link.ts';
import type { OutputSink } from '../runtime.ts';
import { searchLines, type LineSearchResult, type LineFilter } from './line-search.ts';
import type { TrackedExecution } from './executions.ts';

/** Both streams, whole or with a counted hole in the middle. */
export interface OutputCollectors {
  readonly stdout: OutputCollector;
  readonly stderr: OutputCollector;
}

/** Takes all output of `id` within a bound; resolves at its end. */
export async function collectOutput(
  link: RunnerLink,
  id: ExecId,
  bytesMax: number,
): Promise<OutputCollectors> {
  const output = { stdout: new OutputCollector(bytesMax), stderr: new OutputCollector(bytesMax) };
  await new Promise<void>((resolve, reject) => {
    link
      .follow(
        id,
        { from: 0 },
        {
          output: (stream, _, bytes) => output[stream].add(bytes),
          // The counts of the exit record tell how much was missed.
          gap: () => {},
          end: () => resolve(),
        },
      )
      .catch(reject);
  });
  return output;
}

/** Sends output from `from` on until the end, then the receipt or the failure. */
export async function streamOutput(
  link: () => Promise<RunnerLink>,
  tracked: TrackedExecution,
  options: { from: number; sink: OutputSink; signal: AbortSignal },
): Promise<void> {
  const { from, sink, signal } = options;
  let reached = from;
  let stop = (): void => {};
  const ended = new Promise<void>((resolve) => {
    void (async () => {
      if (tracked.record.lost !== null) return;
      stop = await (
        await link()
      ).follow(
        tracked.record.id,
        { from },
        {
          output: (name, offset, bytes) => {
            reached = offset + bytes.length;
            return sink.output(name, offset, bytes) ?? undefined;
          },
          gap: (start, end) => {
            reached = end;
            sink.gap(start, end);
          },
          end: () => resolve(),
        },
      );
    })().then(
      () => tracked.record.lost !== null && resolve(),
      (error: unknown) => {
        // The journal is gone: what was asked for is a gap up to the end.
        const end = tracked.record.outcome?.exit.journal_bytes ?? from;
        if (isTrlError(error, 'EXEC_NOT_FOUND') && end > from) sink.gap(from, (reached = end));
        resolve();
      },
    );
  });
  await waitOrAbort(ended, signal);
  stop();
  if (signal.aborted) return;
  try {
    const head = await tracked.settled;
    if (!signal.aborted) sink.exit(reached, head);
  } catch (error) {
    if (signal.aborted) return;
    const known = isTrlError(error);
    sink.exit(reached, {
      code: known ? error.code : 'INTERNAL_ERROR',
      message: known ? error.message : 'The runtime failed',
    });
  }
}

/** A range of the journal. */
export interface JournalRange {
  readonly pieces: readonly { stream: 'stdout' | 'stderr'; offset: number; bytes: Buffer }[];
  readonly next: number;
  readonly gap: { from: number; to: number } | null;
}

/**
 * Reads at most `max` bytes from `from`; waits up to `waitMs` when there is nothing yet.
 *
 * @throws TrlError `STREAM_GAP` when the journal is no longer held at all
 */
export async function readJournalRange(
  link: RunnerLink,
  id: ExecId,
  ask: {
    from: number;
    max: number;
    waitMs: number;
    /** Only these lines, of all that is held from `from` on; default: whatever comes first. */
    filter?: LineFilter;
    /** Runs what holds bytes in memory, not what only waits for some. Default: at once. */
    within?: <T>(read: () => Promise<T>) => Promise<T>;
  },
): Promise<JournalRange & { readonly omitted?: number }> {
  const info = await link.request('info', { exec_id: id }).catch((cause: unknown) => {
    throw isTrlError(cause, 'EXEC_NOT_FOUND')
      ? new TrlError('STREAM_GAP', `Cannot read ${id}: its output is no longer held`, { cause })
      : cause;
  });
  const held = info.journal_bytes;
  const running = info.state === 'running';
  if (held <= ask.from && (!running || ask.waitMs === 0)) {
    return { pieces: [], next: Math.max(ask.from, 0), gap: null };
  }
  const { filter, from } = ask;
  if (filter !== undefined) {
    // What comes first is waited for, and then looked for like the rest.
    const first = held > from ? null : await take(link, id, { ...ask, max: 1, held });
    const to = Math.max(held, first?.next ?? 0);
    if (to <= from) return { pieces: [], next: from, gap: null };
    const search = (): Promise<LineSearchResult> => searchLines(link, id, { from, to }, filter);
    return ask.within === undefined ? search() : ask.within(search);
  }
  const isThere = held > from;
  const read = (): Promise<JournalRange> => take(link, id, { ...ask, held });
  return isThere && ask.within !== undefined ? ask.within(read) : read();
}

async function take(
  link: RunnerLink,
  id: ExecId,
  ask: { from: number; max: number; waitMs: number; held: number },
): Promise<JournalRange> {
  const { held } = ask;
  const max = held > ask.from ? Math.min(ask.max, held - ask.from) : ask.max;
  const pieces: { stream: 'stdout' | 'stderr'; offset: number; bytes: Buffer }[] = [];
  let next = ask.from;
  let gap: JournalRange['gap'] = null;
  let stop = (): void => {};
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(ask.waitMs, held > ask.from ? 60_000 : 0));
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    link
      .follow(
        id,
        { from: ask.from, max },
        {
          output: (name, offset, bytes) => {
            pieces.push({ stream: name, offset, bytes: Buffer.from(bytes) });
            next = offset + bytes.length;
            if (held <= ask.from) done();
          },
          gap: (from, to) => {
            gap = { from, to };
            next = to;
          },
          end: done,
        },
      )
      .then((end) => (stop = end))
      .catch(reject);
  });
  stop();
  return { pieces, next, gap };
}

/** What a stream's answer holds, given the count of the exit record. */
export function totalOutput(collector: OutputCollector, bytes: number): CollectedOutput {
  const result = collector.result();
  return { ...result, bytes, omitted: result.omitted + Math.max(0, bytes - result.bytes) };
}

/**
 * Waits for `done` or the abort, whichever comes first. A signal lasts as long as its connection,
 * so that nothing of a wait may stay with it.
 */
export async function waitOrAbort(done: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const gone = Promise.withResolvers<void>();
  const leave = (): void => gone.resolve();
  signal.addEventListener('abort', leave, { once: true });
  try {
    await Promise.race([done, gone.promise]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
