/**
 * Receipts for clients of the first protocol, which print `stdout` and `stderr` as they are: text,
 * whatever the bytes were. Who greets (`system.hello`) knows encodings.
 */
import { fieldOf } from '../../json-shape.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import type { Receipt } from '../../api/receipt.ts';

/** @throws what `receipt` rejects with; the partial output of a time-out is text likewise */
export async function toTextReceipt(receipt: Promise<Receipt>): Promise<Receipt> {
  try {
    return readable(await receipt);
  } catch (error) {
    if (!isTrlError(error) || error.data === null) throw error;
    throw new TrlError(error.code, error.message, { data: readable(error.data), cause: error });
  }
}

function readable<Answer extends object>(answer: Answer): Answer {
  const fields = (['stdout', 'stderr'] as const).flatMap((name) => {
    const text = fieldOf(answer, name);
    if (fieldOf(answer, `${name}_encoding`) !== 'base64' || typeof text !== 'string') return [];
    return [
      [name, Buffer.from(text, 'base64').toString('utf8')],
      [`${name}_encoding`, undefined],
      [`${name}_base64`, text],
    ];
  });
  return { ...answer, ...Object.fromEntries(fields) };
}
