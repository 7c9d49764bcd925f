import type { Readable } from 'node:stream';

/** All of a body; `null`: it is larger than `bytesMax`. @throws Error where its sender ended it */
export async function readableBody(body: Readable, bytesMax: number): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > bytesMax) return null;
    parts.push(part);
  }
  return Buffer.concat(parts);
}
