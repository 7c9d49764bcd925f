/** When to stop reading output that others than the command may hold open. */

/** After the end: how long nothing must come. */
const pollMs = 50;
const pollsMax = 5;
/** More than two pipes and their readers hold. */
const bytesMax = 4 * 1024 * 1024;

export interface DrainProbe {
  /** Bytes read so far. */
  readonly read: () => number;
  /** Whether somebody behind keeps it from reading. */
  readonly isPaused: () => boolean;
  /** Whether all has ended by itself. */
  readonly isOver: () => boolean;
}

/** Polls: between two of them everything that lies in the pipes is read. */
export async function waitUntilDrained({
  read,
  isPaused: rests,
  isOver,
}: DrainProbe): Promise<void> {
  const stop = read() + bytesMax;
  let seen = read();
  for (let polls = 0; polls < pollsMax && !isOver() && read() < stop; polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    if (rests() || read() !== seen) polls = 0;
    seen = read();
  }
}
