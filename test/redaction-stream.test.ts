// One stream of output: the same however it is cut, no byte lost or moved, prompts not held back.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import './support/seed.ts';
import type { SecretFinding, MaskedChunk } from '../src/redaction/secret-finding.ts';
import {
  StreamRedactor,
  type KnownValueMasker,
  type SecretReplacement,
} from '../src/redaction/stream-redactor.ts';
import { RedactionTags } from '../src/redaction/redaction-tags.ts';

const tags = new RedactionTags(Buffer.alloc(32, 7));

/** Hides every `K…K` of exactly six, and holds back what may become one. */
class SixMasker implements KnownValueMasker {
  #held = '';
  get pendingSymbols(): number {
    return this.#held.length;
  }
  get hasPending(): boolean {
    return this.#held.length > 0;
  }
  push(chunk: Uint8Array): MaskedChunk[] {
    this.#held += Buffer.from(chunk).toString('latin1');
    const out: MaskedChunk[] = [];
    for (;;) {
      const at = this.#held.indexOf('K');
      const pass = at === -1 ? this.#held.length : at;
      if (pass > 0) out.push(this.#text(pass));
      if (this.#held.length < 6) return out;
      if (/^K....K/s.test(this.#held)) {
        const finding = { kind: 'known', rule: 'known', score: 1, key: 'SIX' } as const;
        out.push({ kind: 'hidden', tag: tags.of(this.#held.slice(0, 6)), bytes: 6, finding });
        this.#held = this.#held.slice(6);
      } else out.push(this.#text(1));
    }
  }
  flush(): MaskedChunk[] {
    return this.#held === '' ? [] : [this.#text(this.#held.length)];
  }
  end(): MaskedChunk[] {
    return this.flush();
  }
  #text(length: number): MaskedChunk {
    const bytes = Buffer.from(this.#held.slice(0, length), 'latin1');
    this.#held = this.#held.slice(length);
    return { kind: 'text', bytes };
  }
}

const finder = {
  scan: (text: string): SecretFinding[] =>
    [...text.matchAll(/secret=(\S+)/g)].map((match) => ({
      start: match.index + 7,
      end: match.index + match[0].length,
      kind: 'context',
      rule: 'test',
      score: 1,
      key: 'secret',
    })),
};

function redacted(chunks: readonly Uint8Array[]): { out: string; told: SecretReplacement[] } {
  const told: SecretReplacement[] = [];
  const parts = {
    masker: new SixMasker(),
    weak: null,
    finder,
    tags,
    onRedaction: (one: SecretReplacement) => told.push(one),
  };
  const stream = new StreamRedactor(parts);
  const out = [...chunks.map((chunk) => stream.push(chunk)), stream.end()];
  return { out: Buffer.concat(out).toString('latin1'), told };
}

/** `input` in chunks of these sizes, again and again. */
function cut(input: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  for (let at = 0, turn = 0; at < input.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    chunks.push(input.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

const word = fc.constantFrom('KabcdK', 'KKKKKK', 'secret=hunter2', 'secret=KxyzwK', 'plain', 'K');
const gap = fc.constantFrom(' ', '\n', '\r\n', ',', '', '\0', 'é');
const long = fc.nat({ max: 20_000 }).map((length) => 'x'.repeat(length));
const text = fc
  .array(fc.tuple(fc.oneof({ weight: 20, arbitrary: word }, { weight: 1, arbitrary: long }), gap), {
    maxLength: 60,
  })
  .map((parts) => Buffer.from(parts.flat().join('')));

describe('a stream', () => {
  test('is the same however it is cut', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(text, sizes, (input, given) => {
        const whole = redacted([input]);
        assert.deepEqual(redacted(cut(input, given)), whole);
      }),
      { numRuns: 300 },
    );
    const input = Buffer.from(`secret=abc KabcdK ${'x'.repeat(17_000)} secret=de\nK`);
    assert.deepEqual(redacted(cut(input, [1])), redacted([input]));
  });

  test('loses no byte and moves none: what passes and what is hidden is the input', () => {
    fc.assert(
      fc.property(text, (input) => {
        const { out, told } = redacted([input]);
        let rebuilt = '';
        let from = 0;
        let at = 0;
        for (const one of told) {
          const passed = one.from - from;
          rebuilt += out.slice(at, at + passed);
          assert.equal(out.slice(at + passed, at + passed + one.tag.length), one.tag);
          at += passed + one.tag.length;
          rebuilt += input.subarray(one.from, one.to).toString('latin1');
          from = one.to;
        }
        rebuilt += out.slice(at);
        assert.equal(rebuilt, input.toString('latin1'));
      }),
      { numRuns: 300 },
    );
  });

  test('both halves hide, known values first', () => {
    const { out, told } = redacted([Buffer.from('a KabcdK secret=xyz secret=KabcdK.\n')]);
    assert.match(out, /^a \[HIDDEN:\w{6}\] secret=\[HIDDEN:\w{6}\] secret=\[HIDDEN:\w{6}\]\n$/);
    assert.deepEqual(
      told.map(({ from, to, finding }) => [from, to, finding.kind]),
      [
        [2, 8, 'known'],
        [16, 19, 'context'],
        [27, 34, 'context'],
      ],
    );
  });

  test('holds a line back until it ends, or is flushed', () => {
    const told = (): void => {};
    const stream = new StreamRedactor({
      masker: new SixMasker(),
      weak: null,
      finder,
      tags,
      onRedaction: told,
    });
    assert.equal(stream.push(Buffer.from('Continue? [y/N] ')).length, 0);
    assert.equal(stream.hasPending, true);
    assert.equal(Buffer.from(stream.flush('all')).toString(), 'Continue? [y/N] ');
    assert.equal(stream.forcedFlushes, 1);
    assert.deepEqual(
      [stream.hasPending, stream.flush('all').length, stream.forcedFlushes],
      [false, 0, 1],
    );
  });

  test('gives out whole lines when it rests, and keeps an unfinished one', () => {
    const stream = new StreamRedactor({
      masker: new SixMasker(),
      weak: null,
      finder,
      tags,
      onRedaction: () => {},
    });
    assert.equal(Buffer.from(stream.push(Buffer.from('ready K\nand'))).toString(), '');
    assert.equal(Buffer.from(stream.flush('whole')).toString(), 'ready K\n');
    assert.deepEqual([stream.flush('whole').length, stream.forcedFlushes], [0, 1]);
    assert.equal(Buffer.from(stream.end()).toString(), 'and');
  });

  test('is not flushed while six symbols of a known value may be held', () => {
    const held = {
      push: () => [],
      flush: () => assert.fail(),
      end: () => [],
      pendingSymbols: 6,
      hasPending: true,
    };
    const stream = new StreamRedactor({
      masker: held,
      weak: null,
      finder,
      tags,
      onRedaction: () => {},
    });
    stream.push(Buffer.from('abcdef'));
    assert.deepEqual([stream.flush('all').length, stream.forcedFlushes], [0, 0]);
  });
});

describe('a tag', () => {
  test('is six digits, the same for the same secret, and another for another key', () => {
    const tag = tags.of('hunter2');
    assert.match(tag, /^\[HIDDEN:[0-9a-f]{6}\]$/);
    assert.equal(tags.of(Buffer.from('hunter2')), tag);
    assert.notEqual(new RedactionTags(Buffer.alloc(32, 8)).of('hunter2'), tag);
  });

  test('grows where 24 bits would be the same: 20,000 secrets, 20,000 tags', () => {
    const many = new RedactionTags(Buffer.alloc(32, 1));
    const seen = new Set<string>();
    for (let n = 0; n < 20_000; n += 1) seen.add(many.of(`secret ${n}`));
    assert.equal(seen.size, 20_000);
    assert.ok([...seen].some((tag) => tag.length > '[HIDDEN:8f2a1b]'.length));
    for (let n = 0; n < 20_000; n += 999) assert.ok(seen.has(many.of(`secret ${n}`)));
  });
});

test('a value that a person lets be shown takes no known value with it', () => {
  const told: SecretReplacement[] = [];
  const find = (text: string): SecretFinding[] =>
    [...text.matchAll(/weak1/gu)].map(({ index }) => ({
      start: index,
      end: index + 5,
      kind: 'known',
      rule: 'known',
      score: 1,
      key: 'WEAK',
    }));
  const revealed = new Set(
    ['openly', 'xxweak1xx', 'weak1'].map((one) => tags.nameOf(Buffer.from(one))),
  );
  const shows = (text: string, weak: { find: typeof find } | null): string => {
    const redactor = new StreamRedactor({
      masker: null,
      finder,
      weak,
      tags,
      revealed,
      onRedaction: (redaction) => told.push(redaction),
    });
    const out = [redactor.push(Buffer.from(text)), redactor.end()];
    return Buffer.concat(out).toString();
  };
  assert.equal(shows('secret=openly\n', { find }), 'secret=openly\n');
  assert.equal(shows('secret=openlY\n', { find }), `secret=${tags.of('openlY')}\n`);
  assert.equal(shows('secret=xxweak1xx\n', null), 'secret=xxweak1xx\n');
  assert.doesNotMatch(shows('secret=xxweak1xx\n', { find }), /weak1/u);
  assert.doesNotMatch(shows('a weak1\n', { find }), /weak1/u);
  assert.deepEqual(
    told.map(({ digest }) => digest),
    [tags.nameOf(Buffer.from('openlY')), null, null],
  );
});

test('a secret that ends the output without a line end is hidden', () => {
  for (const given of ['secret=openly', 'a\nsecret=openly', 'secret=openly\nsecret=again']) {
    const told: SecretReplacement[] = [];
    const redactor = new StreamRedactor({
      masker: null,
      finder,
      weak: null,
      tags,
      onRedaction: (redaction) => told.push(redaction),
    });
    const out = Buffer.concat([redactor.push(Buffer.from(given)), redactor.end()]).toString();
    const wanted = given.replaceAll(/secret=(\w+)/gu, (_, value) => `secret=${tags.of(value)}`);
    assert.equal(out, wanted);
    assert.equal(told.at(-1)?.to, given.length);
  }
});
