/**
 * Masks callers' texts for the log, which stores them permanently: likely secrets are hidden, too.
 */
import { secretPriorOf } from '../../redaction/detect/secret-prior.ts';
import { openRedactor } from '../../redaction/open-redactor.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Masking } from '../secrets/masking.ts';
import type { MaskText } from './exec-basis.ts';

/** A shorter text contains no secret that can be distinguished from a word. */
const textMin = 6;

export function createTextMasker(
  { options, tags }: Omit<DiffRedaction, 'index'>,
  masking: Pick<Masking, 'index'>,
): MaskText {
  const prior = secretPriorOf('');
  return (text) => {
    if (text.length < textMin) return text;
    const stream = openRedactor({
      options,
      prior,
      index: masking.index,
      tags,
      onRedaction: () => {},
    });
    return Buffer.concat([stream.push(Buffer.from(text)), stream.end()]).toString();
  };
}
