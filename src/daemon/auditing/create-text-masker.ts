/** Texts of callers as the log keeps them: for good, so what is likely secret is hidden, too. */
import { secretPriorOf } from '../../redaction/detect/secret-prior.ts';
import { openRedactor } from '../../redaction/open-redactor.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Masking } from '../secrets/masking.ts';
import type { MaskText } from './exec-basis.ts';

/** Shorter texts hold no secret that could be told from a word. */
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
