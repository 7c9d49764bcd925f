/** Finds secrets in publications: known values in any encoding, and likely secrets. */
import { secretPriorOf } from '../../redaction/detect/secret-prior.ts';
import { openRedactor } from '../../redaction/open-redactor.ts';
import type { SecretHit } from '../../publish/publication.ts';
import { isPublicWord } from '../../publish/background.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';

const stepBytes = 64 * 1024;
const wordCharsMax = 32;
/** Longer values are none of the ordinary forms. */
const ordinaryCharsMax = 200;
/** Ordinary values, which are not secrets even next to `password` or `key`. */
const ordinary = new RegExp(
  [
    // A text in letters that no key contains; a format; an HTML entity; a tag.
    String.raw`[^\x21-\x7e]+|.{0,40}%[sd].{0,40}|&#?\w{1,8};.*|</?[a-z]+[ >].*`,
    // A pointer declaration, the name of a constant, names with dots, an object identifier.
    String.raw`\*[A-Za-z_]\w*(?:\(.*)?|[A-Z]+\d*(?:_[A-Z\d]+)+|[A-Za-z]+(?:\.[A-Za-z]+)+`,
    String.raw`\d+(?:\.\d+){3,}`,
    // A union of types, an object, an expression.
    String.raw`\{[\w:!|.]+\}?|\$\?\w+:\w+`,
    'anonymous|anoncvs',
  ]
    .map((forms) => `^(?:${forms})[),;]*$`)
    .join('|'),
);
const word = /^[A-Z]?[a-z]{2,}$/;
/** The signature of the jwt.io example, which documents and tests quote. */
const exampleSignature = 'SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c';

/** @param turn awaited after every 64 KiB */
export function secretFinder(
  { options, tags, index }: DiffRedaction,
  turn: () => Promise<void>,
): (bytes: Uint8Array) => Promise<readonly SecretHit[]> {
  const prior = secretPriorOf('');
  return async (bytes) => {
    const hits: SecretHit[] = [];
    const stream = openRedactor({
      options,
      prior,
      index,
      tags,
      // A common word is no reason to block a publication.
      leavesWeak: true,
      onRedaction: ({ from, to, finding }) => {
        const { kind, rule, key, score } = finding;
        const isKnown = kind === 'known';
        if (!isKnown && isOrdinary(bytes.subarray(from, to), kind === 'context')) return;
        const name = (isKnown ? key : null) ?? rule;
        hits.push({
          name,
          kind: isKnown ? 'known' : 'likely',
          span: [from, to],
          score,
          bare: kind === 'score',
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

/** @param named it counts as a secret because of the name next to it */
function isOrdinary(value: Uint8Array, named: boolean): boolean {
  const text = Buffer.from(value).toString('latin1');
  if (text.endsWith(exampleSignature)) return true;
  if (!named || text.length > ordinaryCharsMax) return false;
  if (ordinary.test(text)) return true;
  return text.length <= wordCharsMax && word.test(text) && isPublicWord(value, 0, value.length);
}
