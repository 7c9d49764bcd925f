/** Waiting for a text in an execution's output, or for its end. */
import type { ExecId } from '../../command.ts';
import type { RunnerLink } from '../../process/runner-link.ts';

type Stream = 'stdout' | 'stderr';

/**
 * Waits until the output from `from` on has `text` in one of its streams, or the command ends.
 * Memory is bounded by the length of the text.
 *
 * @returns whether the text is there
 * @throws TrlError `EXEC_NOT_FOUND` where its output is no longer held
 */
export async function waitForOutputText(
  link: RunnerLink,
  id: ExecId,
  { from, text, signal }: { from: number; text: string; signal: AbortSignal },
): Promise<boolean> {
  const wanted = Buffer.from(text);
  /** The last bytes of each stream: the text may span two chunks. */
  const seen = new Map<Stream, Buffer>();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const late = (): void => resolve(false);
  signal.addEventListener('abort', late, { once: true });
  if (signal.aborted) late();
  const following = link.follow(
    id,
    { from },
    {
      output: (stream, _, bytes) => {
        const before = seen.get(stream) ?? Buffer.alloc(0);
        const looked = Buffer.concat([before, bytes]);
        if (looked.includes(wanted)) resolve(true);
        // A copy: a part of what the runner sent would hold all of it.
        const keep = Math.max(0, looked.length - wanted.length + 1);
        seen.set(stream, Buffer.from(looked.subarray(keep)));
      },
      // What is missing is in no text.
      gap: () => seen.clear(),
      end: late,
    },
  );
  following.catch(reject);
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', late);
    void following.then((stop) => stop()).catch(() => {});
  }
}
