/** Bodies of requests, and their passage. */
import type { Readable, Transform, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';

/** All of a body; `null`: it is larger than `bytesMax`. @throws Error where its sender ended it */
export async function readableBody(body: Readable, bytesMax: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  // It stays open: its sender is still to be answered.
  for await (const part of body.iterator({ destroyOnReturn: false })) {
    bytes += part.length;
    if (bytes > bytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * Passes a body on through `guard`. Where that finds what may not pass, the source stays open, for
 * its sender is still to be answered.
 */
export async function passGuarded(
  source: Readable,
  guard: Transform,
  target: Writable,
): Promise<void> {
  source.pipe(guard).pipe(target);
  // A host that has answered takes no more of it.
  target.once('close', () => guard.destroy());
  try {
    await finished(guard);
  } finally {
    source.unpipe(guard);
    // What is left of it is not waited for.
    source.resume();
  }
}
