/** Text by its letters and digits alone: what stands between them and their case do not matter. */

export interface SqueezedText {
  /** Letters and digits, small; bytes above ASCII as they are. One character for each byte. */
  readonly text: string;
  /** Where each one stands in the bytes. */
  readonly at: Uint32Array;
}

/** What becomes of each byte; 0: it is dropped. */
const kept = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x41 && byte <= 0x5a) return byte + 0x20;
  const isKept = byte >= 0x80 || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a);
  return isKept ? byte : 0;
});

export function squeezeText(bytes: Uint8Array): SqueezedText {
  const letters = Buffer.allocUnsafe(bytes.length);
  const at = new Uint32Array(bytes.length);
  let count = 0;
  for (let from = 0; from < bytes.length; from += 1) {
    const byte = bytes[from] ?? 0;
    // A colour is no part of the text, though it has letters.
    if (byte === 0x1b && bytes[from + 1] === 0x5b) {
      from = endOfSequence(bytes, from + 2);
      continue;
    }
    const letter = kept[byte] ?? 0;
    if (letter === 0) continue;
    letters[count] = letter;
    at[count] = from;
    count += 1;
  }
  return { text: letters.toString('latin1', 0, count), at: at.subarray(0, count) };
}

/** The last byte of a control sequence (ECMA-48): parameters, then one byte of `@` to `~`. */
function endOfSequence(bytes: Uint8Array, from: number): number {
  const most = Math.min(bytes.length, from + 64);
  for (let at = from; at < most; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x40 && byte <= 0x7e) return at;
    if (byte < 0x20 || byte > 0x7e) return at - 1;
  }
  return most - 1;
}

/** The squeezed forms of a text that is looked for: each way in which its accents are written. */
export function squeezedForms(text: string): readonly string[] {
  const forms = ['NFC', 'NFD'].map(
    (form) => squeezeText(Buffer.from(text.normalize(form).toLowerCase(), 'utf8')).text,
  );
  return [...new Set(forms)];
}
