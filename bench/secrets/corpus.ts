/** Labelled texts: files of JSON lines, gzipped or not. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';

/** A text with the secrets in it, as `[start, end)` in UTF-16. */
export interface Positive {
  readonly id: string;
  readonly kind: string;
  readonly group: string;
  /** The command that printed it, or what the text is like. */
  readonly cmd: string;
  readonly text: string;
  readonly secret_spans: readonly (readonly [number, number])[];
}

/** A text without secrets. Those of the group `near_miss` are ambiguous. */
export interface Negative {
  readonly id: string;
  readonly kind: string;
  readonly group: string;
  readonly text: string;
}

/** A line of the output of real commands. */
export interface Clean {
  readonly kind: string;
  readonly text: string;
}

export interface Corpus {
  readonly positives: readonly Positive[];
  readonly negatives: readonly Negative[];
  readonly clean: readonly Clean[];
}

/** @param directory Of the three files. */
export function readCorpus(directory: string): Corpus {
  return {
    positives: rows(directory, 'secrets-positives'),
    negatives: rows<Negative>(directory, 'secrets-negatives').filter(
      ({ group }) => group !== 'near_miss',
    ),
    clean: rows(directory, 'clean-output'),
  };
}

/** What `DIRECTORY/NAME.jsonl[.gz]` holds; a file that is not there counts as empty. */
export function rows<Row>(directory: string, name: string): Row[] {
  const plain = path.join(directory, `${name}.jsonl`);
  const packed = `${plain}.gz`;
  let text = '';
  if (existsSync(packed)) text = gunzipSync(readFileSync(packed)).toString('utf8');
  else if (existsSync(plain)) text = readFileSync(plain, 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const row: Row = JSON.parse(line);
      return row;
    });
}
