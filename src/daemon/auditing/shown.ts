/** Texts of callers as the log keeps them: for good, so what is likely secret is hidden, too. */
import { priorOf } from '../../redaction/detect/prior.ts';
import { openRedactor } from '../../redaction/open.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Masking } from '../secrets/masking.ts';
import type { Shown } from './basis.ts';

/** Shorter texts hold no secret that could be told from a word. */
const textMin = 6;

export function shownBy(
  { options, tags }: Omit<DiffRedaction, 'index'>,
  masking: Pick<Masking, 'index'>,
): Shown {
  const prior = priorOf('');
  return (text) => {
    if (text.length < textMin) return text;
    const stream = openRedactor({ options, prior, index: masking.index, tags, told: () => {} });
    return Buffer.concat([stream.push(Buffer.from(text)), stream.end()]).toString();
  };
}
