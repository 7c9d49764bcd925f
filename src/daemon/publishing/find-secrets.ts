/** Secrets in what leaves: known values in any encoding, and what looks like one. */
import { secretPriorOf } from '../../redaction/detect/secret-prior.ts';
import { openRedactor } from '../../redaction/open-redactor.ts';
import type { SecretHit } from '../../publish/publication.ts';
import { isPublicWord } from '../../publish/background.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';

const stepBytes = 64 * 1024;
const wordCharsMax = 32;
/** What is longer is none of the ordinary forms. */
const ordinaryCharsMax = 200;
/** Beside `password` or `key` as well, these are none. */
const ordinary = new RegExp(
  [
    // A sentence in letters that no key has; a format; a reference of HTML; a tag.
    String.raw`[^\x21-\x7e]+|.{0,40}%[sd].{0,40}|&#?\w{1,8};.*|</?[a-z]+[ >].*`,
    // A declaration of a pointer, the name of a constant, names with dots, an object identifier.
    String.raw`\*[A-Za-z_]\w*(?:\(.*)?|[A-Z]+\d*(?:_[A-Z\d]+)+|[A-Za-z]+(?:\.[A-Za-z]+)+`,
    String.raw`\d+(?:\.\d+){3,}`,
    // A choice of types, an object, an expression.
    String.raw`\{[\w:!|.]+\}?|\$\?\w+:\w+`,
    'anonymous|anoncvs',
  ]
    .map((forms) => `^(?:${forms})[),;]*$`)
    .join('|'),
);
const word = /^[A-Z]?[a-z]{2,}$/;
/** Of the example of jwt.io, which documents and tests quote. */
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
      // A word that anybody writes is no reason to hold a publication back.
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

/** @param named it is taken for a secret for what stands beside it */
function isOrdinary(value: Uint8Array, named: boolean): boolean {
  const text = Buffer.from(value).toString('latin1');
  if (text.endsWith(exampleSignature)) return true;
  if (!named || text.length > ordinaryCharsMax) return false;
  if (ordinary.test(text)) return true;
  return text.length <= wordCharsMax && word.test(text) && isPublicWord(value, 0, value.length);
}
