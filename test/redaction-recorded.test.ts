// What is found in thousands of lines is what was found before: a rule that goes, narrows or reads
// a place in another way shows here, whatever made the other tests' examples.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Detector } from '../src/redaction/detect/detector.ts';
import { redactionProfileNames, type SecretPrior } from '../src/redaction/secret-finding.ts';
import { SecretRuleSet } from '../src/redaction/rules/rule-set.ts';
import { shippedRules } from '../src/redaction/rules/shipped-rules.ts';
import { assertRecorded, fingerprint } from './support/recorded.ts';
import { draw, seeded } from './support/redaction-draw.ts';
import { frames, names, values, variants } from './support/secret-frames.ts';

const fixtures = path.join(import.meta.dirname, 'fixtures/secrets');

function linesOf(file: string): readonly Form[] {
  const lines = readFileSync(path.join(fixtures, file), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line): Form => JSON.parse(line));
}

/** A line of a fixture: a text, or a form of key. */
interface Form {
  readonly id: string;
  readonly text: string;
  readonly shapes: readonly string[];
  readonly near?: readonly string[];
  readonly score: number;
  readonly joined?: boolean;
  readonly fold?: boolean;
  readonly anywhere?: boolean;
  readonly wordy?: boolean;
  /** The name of its check. */
  readonly checksum?: string;
}

/** Beside the word that tells whose it is, where there is one. */
const linesWith = (key: string, word: string): readonly string[] =>
  word === '' ? [key] : [`${word}_token=${key}`, `${word}_secret_key=${key}`, `${word} ${key}`];

/** Of each form so many keys are drawn: of each of its beginnings one, as good as surely. */
const drawsPerShape = 24;

test('keys of every form that was known are found by their rules as before', () => {
  const rules = new Map(shippedRules.map((rule) => [rule.id, rule]));
  const lines = linesOf('forms.jsonl').flatMap(({ id, shapes, near = [''], fold }) => {
    const rule = rules.get(id);
    assert.ok(rule !== undefined, `the rule ${id} is gone`);
    const set = new SecretRuleSet([rule]);
    const find = (line: string) => set.find(line, Buffer.from(line, 'latin1'), 0, line.length);
    return shapes.map((shape) => {
      const random = seeded(5);
      const found = Array.from({ length: Math.max(drawsPerShape, near.length) }, (_, at) => {
        const { text } = draw(shape, random);
        const word = near[at % near.length] ?? '';
        return linesWith(fold === true ? text.toLowerCase() : text, word).map(find);
      });
      const hits = found.filter((of) => of.flat().some((one) => one.rule === id)).length;
      return `${id}\t${shape}\t${hits} of ${found.length}\t${fingerprint(found)}`;
    });
  });
  assertRecorded('secrets/recorded-forms.tsv', lines, 2);
});

test('a rule is as strict as it was', () => {
  const known = new Map(linesOf('forms.jsonl').map((form) => [form.id, form]));
  for (const { id, shapes, near, joined, fold, anywhere, wordy, checksum } of shippedRules) {
    const form = known.get(id);
    const flags = [joined, fold, anywhere, wordy];
    const wanted = [form?.joined, form?.fold, form?.anywhere, form?.wordy];
    assert.deepEqual(
      [shapes, near, flags, checksum?.name],
      [form?.shapes, form?.near ?? [], wanted.map((flag) => flag === true), form?.checksum],
      `${id}: where a change is meant, make it in fixtures/secrets/forms.jsonl, too`,
    );
  }
});

function found(
  text: string,
  profile: (typeof redactionProfileNames)[number],
  prior: SecretPrior,
): unknown {
  const findings = new Detector({ profile, prior }).scan(text, Buffer.from(text, 'latin1'));
  return findings.map((one) => ({ ...one, score: one.score.toFixed(6) }));
}

const everywhere = (text: string): unknown => [
  ...redactionProfileNames.map((profile) => found(text, profile, 'none')),
  found(`$ env\n${text}`, 'balanced', 'none'),
];

for (const file of ['secrets-positives', 'secrets-negatives', 'clean-output']) {
  test(`in ${file}.jsonl, as it is and changed a little, the same is found as before`, () => {
    const lines = linesOf(`${file}.jsonl`).flatMap(({ id, text }) =>
      variants(text).map(([name, changed]) => {
        const what = everywhere(changed);
        return `${id}\t${name}\t${count(what)}\t${fingerprint(what)}`;
      }),
    );
    assertRecorded(`secrets/recorded-${file}.tsv`, lines, 8);
  });
}

test('in every place where a value can stand the same is found as before', () => {
  const lines = frames.flatMap((frame) => {
    const every = names.map((name) =>
      values.map((value) => everywhere(frame.replaceAll('NAME', name).replaceAll('VALUE', value))),
    );
    return names.map((name, at) => {
      const what = every[at] ?? [];
      const place = JSON.stringify(frame.replaceAll('NAME', name));
      return `${place}\t${count(what)}\t${fingerprint(what)}`;
    });
  });
  assertRecorded('secrets/recorded-places.tsv', [...new Set(lines)], 4);
});

const count = (what: unknown): number => [what].flat(3).length;
