/** Finds what is left of a raw log whose redactor ended before it reported. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { RawLog } from '../redacted.ts';
import type { ChannelOpen } from '../redactor/wire.ts';

/** Its chunks can be read up to the end of the file; what came after them is lost. */
export async function salvageRawLog({
  base,
  recipients,
}: NonNullable<ChannelOpen['seal']>): Promise<RawLog> {
  const digest = createHash('sha256');
  let bytes = 0;
  let why = 'the redactor ended';
  try {
    for await (const part of createReadStream(`${base}.log`)) {
      digest.update(part);
      bytes += part.length;
    }
  } catch {
    why = 'the redactor ended, and nothing can be read of what it wrote';
  }
  const sha256 = digest.digest('hex');
  return { sha256, bytes, plain_bytes: null, complete: false, why, recipients };
}
