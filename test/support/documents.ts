/**
 * The documents as tests read them: their fenced blocks, and what is shown against what came.
 *
 * What is shown need not come letter by letter, for some of it differs each time:
 *
 * - `…` alone stands for any text of its line; a word that ends in it (`x-48c7…`) for one word
 *   that begins alike, and everywhere in the page for the same one.
 * - Ids of 12 and more hexadecimal digits, the digits of `[HIDDEN:…]`, times, ports, numbers of
 *   processes and of events stand for others; equal ones stand for equal ones.
 * - Two and more spaces stand for one and more: columns are as wide as what is in them.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

export const root = path.dirname(path.dirname(import.meta.dirname));
const pattern = '{README,SECURITY,ARCHITECTURE,CHANGELOG}.md';
export const documents: readonly string[] = [
  ...globSync([pattern, 'docs/**/*.md', 'clients/**/*.md'], { cwd: root }),
].toSorted();

export interface Block {
  readonly file: string;
  /** Of its first line, from 1. */
  readonly line: number;
  readonly language: string;
  /** With the last line's end. */
  readonly text: string;
  /** Where it is, for messages. */
  readonly at: string;
}

export const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** The fenced blocks of a document, in order; one that is not closed fails. */
export function blocksOf(file: string): Block[] {
  const found: Block[] = [];
  let open: { line: number; language: string; lines: string[] } | null = null;
  for (const [index, line] of read(file).split('\n').entries()) {
    const fence = /^ {0,3}(?:```|~~~)(.*)$/.exec(line);
    if (fence === null) {
      open?.lines.push(line);
    } else if (open === null) {
      open = { line: index + 2, language: fence[1]?.trim() ?? '', lines: [] };
    } else {
      const { lines, ...rest } = open;
      const text = lines.map((one) => `${one}\n`).join('');
      found.push({ file, ...rest, text, at: `${file}:${rest.line}` });
      open = null;
    }
  }
  assert.equal(open, null, `${file}: a block without an end`);
  return found;
}

export const blocks: readonly Block[] = documents.flatMap(blocksOf);

/** What a block is called in tests: its file and first line. */
export const nameOf = ({ file, text }: Block): string => `${file}: ${text.split('\n')[0]}`;

/** The blocks of one language of a document; there is at least one. */
export function blocksIn(file: string, language: string): Block[] {
  const found = blocks.filter((block) => block.file === file && block.language === language);
  assert.ok(found.length > 0, `${file} has no block of ${language}`);
  return found;
}

export interface Step {
  readonly command: string;
  /** What is shown below it. */
  readonly output: string;
}

/** The commands of a block of `console`: lines behind `$ `, continued where they end in `\`. */
export function stepsOf(block: Block): Step[] {
  const steps: { command: string; output: string }[] = [];
  let isOpen = false;
  for (const line of block.text.trimEnd().split('\n')) {
    const step = steps.at(-1);
    if (isOpen && step !== undefined) step.command += `\n${line}`;
    else if (line.startsWith('$ ')) steps.push({ command: line.slice(2), output: '' });
    else if (step === undefined) assert.fail(`${block.at}: what is shown first is no command`);
    else step.output += `${line}\n`;
    isOpen = line.endsWith('\\') && (isOpen || line.startsWith('$ '));
  }
  return steps;
}

/** What the words of a page that differ each time stand for. */
export class Meanings {
  readonly #known: Map<string, string>;

  constructor(known: Readonly<Record<string, string>> = {}) {
    this.#known = new Map(Object.entries(known));
  }

  /** A command with what came before in place of the words that stand for it. */
  filled(command: string): string {
    let text = command;
    for (const [word, meant] of this.#known) text = text.replaceAll(word, meant);
    return text;
  }

  /** Fails where `came` is not what is shown; remembers what its words stand for. */
  compare(shown: string, came: string, what: string): void {
    const words: string[] = [];
    const text = tidied(shown);
    let source = '';
    let at = 0;
    for (const found of text.matchAll(variable)) {
      source += literally(text.slice(at, found.index));
      at = found.index + found[0].length;
      const stands = standsFor[found.slice(1).findIndex((one) => one !== undefined)];
      source += this.#sourceOf(found[0], stands, words);
    }
    source += literally(text.slice(at));
    const found = new RegExp(`^${source}$`).exec(tidied(came));
    if (found === null) assert.equal(came, shown, what);
    for (const [index, word] of words.entries()) this.#known.set(word, found?.[index + 1] ?? '');
  }

  #sourceOf(word: string, stands: string | null | undefined, words: string[]): string {
    if (word === '…') return '.*?';
    if (typeof stands === 'string') return stands;
    const known = this.#known.get(word);
    if (known !== undefined) return literally(known);
    const before = words.indexOf(word);
    if (before !== -1) return `(?:\\${before + 1})`;
    words.push(word);
    if (/^[0-9a-f]{6}$/.test(word)) return '([0-9a-f]{6,})';
    if (!word.endsWith('…')) return '([0-9a-z-]+)';
    const [, beginning = ''] = /^((?:[a-z]\w*[-_=:])*)/.exec(word) ?? [];
    return `(${literally(beginning)}[\\w+/=.-]+)`;
  }
}

/** Lines end where their text does. */
const tidied = (text: string): string => text.replaceAll(/ +$/gm, '').trimEnd();

/** Columns are as wide as what is in them. */
const literally = (text: string): string => RegExp.escape(text).replaceAll(/(?:\\x20){2,}/g, ' +');

/** What differs each time: how it looks, and what may stand there; `null`: the same each time. */
const shapes: readonly (readonly [source: string, stands: string | null])[] = [
  ['(?:[\\w.+=-]|tree:sha256:)*…', null],
  ['(?<=HIDDEN:)[0-9a-f]{6}', null],
  ['\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z', '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z'],
  [
    '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d(?::\\d\\d)?',
    '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d(?::\\d\\d)?',
  ],
  ['(?:\\b[a-z]-)?\\b[0-9a-f]{12,}', null],
  ['(?<=127\\.0\\.0\\.1:|process |up )\\d+', '\\d+'],
  ['\\d+(?= (?:events|heads)\\b)', '\\d+'],
  ['age1[0-9a-z]{58}', 'age1[0-9a-z]{58}'],
  ['^[0-9a-f]{7}(?= )', '[0-9a-f]{7}'],
];
const standsFor = shapes.map(([, stands]) => stands);
const variable = new RegExp(shapes.map(([source]) => `(${source})`).join('|'), 'gm');
