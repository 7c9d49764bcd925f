/** Decides when to stop reading output that processes besides the command may keep open. */

/** How often the pipes are checked after the end. */
const pollMs = 50;
const pollsMax = 5;
/** More than two pipes and their readers can buffer. */
const bytesMax = 4 * 1024 * 1024;

export interface DrainProbe {
  /** Bytes read so far. */
  readonly read: () => number;
  /** Whether a slow reader pauses reading. */
  readonly isPaused: () => boolean;
  /** Whether both streams have ended. */
  readonly isOver: () => boolean;
}

/** Polls: everything in the pipes is read between two polls. */
export async function waitUntilDrained({ read, isPaused, isOver }: DrainProbe): Promise<void> {
  const stop = read() + bytesMax;
  let seen = read();
  for (let polls = 0; polls < pollsMax && !isOver() && read() < stop; polls += 1) {
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    if (isPaused() || read() !== seen) polls = 0;
    seen = read();
  }
}
