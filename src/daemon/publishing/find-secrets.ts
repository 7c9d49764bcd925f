/** Secrets in what leaves: known values in any encoding, and what looks like one. */
import { priorOf } from '../../redaction/detect/prior.ts';
import { openRedactor } from '../../redaction/open.ts';
import type { SecretHit } from '../../publish/gate-input.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';

const stepBytes = 64 * 1024;

/** @param turn awaited after every 64 KiB */
export function secretFinder(
  { options, tags, index }: DiffRedaction,
  turn: () => Promise<void>,
): (bytes: Uint8Array) => Promise<readonly SecretHit[]> {
  const prior = priorOf('');
  return async (bytes) => {
    const hits: SecretHit[] = [];
    const stream = openRedactor({
      options,
      prior,
      index,
      tags,
      // A word that anybody writes is no reason to hold a publication back.
      leavesWeak: true,
      told: ({ from, to, finding }) => {
        const { kind, rule, key, score } = finding;
        const isKnown = kind === 'known';
        const name = (isKnown ? key : null) ?? rule;
        hits.push({
          name,
          kind: isKnown ? 'known' : 'likely',
          span: [from, to],
          score,
        });
      },
    });
    for (let at = 0; at < bytes.length; at += stepBytes) {
      stream.push(bytes.subarray(at, at + stepBytes));
      if (at > 0) await turn();
    }
    stream.end();
    return hits;
  };
}
