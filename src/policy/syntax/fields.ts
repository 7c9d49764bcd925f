/** From atoms to the words of a command: field splitting, removal of what is empty, globs. */
import type { SourceSpan } from '../analysis.ts';
import type { Atom } from './atom.ts';
import type { ShellWord } from './script.ts';

/** Static text and gaps of one word, and the pattern it is if it has a glob. */
interface Field {
  pieces: (string | null)[];
  pattern: string;
  /** Whether it stays although it is empty. */
  present: boolean;
  derived: boolean;
}

export interface FieldSplitOptions {
  readonly span: SourceSpan;
  readonly variables: readonly string[];
  /** `false` where the shell does not split: assignments, redirect targets, `[[ ]]`. */
  readonly split: boolean;
  /** The characters of `IFS`. */
  readonly separators: string;
}

/** The words that come of one word without braces. None, where only empty expansions are in it. */
export function splitFields(atoms: readonly Atom[], options: FieldSplitOptions): ShellWord[] {
  const fields: Field[] = [];
  let field = empty();
  const flush = (): void => {
    if (field.present) fields.push(field);
    field = { ...empty(), derived: field.derived };
  };
  for (const atom of atoms) {
    if (atom.kind === 'text') {
      add(field, atom.text, atom.quoted);
      continue;
    }
    if (atom.prefix !== '') add(field, atom.prefix, true);
    if (atom.values === null) {
      gap(field);
      continue;
    }
    field.derived = true;
    if (atom.quoted || !options.split) {
      const items = atom.apart ? atom.values : [atom.values.join(' ')];
      items.forEach((item, index) => {
        if (index > 0) flush();
        add(field, item, true);
      });
    } else spread(atom.values, options.separators, (item) => add(field, item, false), flush);
    field.derived = true;
  }
  if (field.present || (!options.split && fields.length === 0)) fields.push(field);
  return fields.map((each) => wordOf(each, options));
}

/** Splits values at separators; between two values there is always a border. */
function spread(
  values: readonly string[],
  separators: string,
  put: (item: string) => void,
  flush: () => void,
): void {
  values.forEach((value, index) => {
    if (index > 0) flush();
    let run = '';
    for (const sign of value) {
      if (!separators.includes(sign)) {
        run += sign;
        continue;
      }
      if (run !== '') put(run);
      run = '';
      flush();
    }
    if (run !== '') put(run);
  });
}

function wordOf(field: Field, options: FieldSplitOptions): ShellWord {
  const { span, variables } = options;
  const pieces = field.pieces.length === 0 ? [''] : field.pieces;
  const globbed = options.split && isGlob(field.pattern);
  const whole = pieces.includes(null) || globbed ? null : pieces.join('');
  return {
    span,
    value: whole,
    pieces,
    glob: globbed ? field.pattern : null,
    variables,
    derived: field.derived,
  };
}

function add(field: Field, text: string, quoted: boolean): void {
  if (quoted || text !== '') field.present = true;
  field.pattern += quoted ? text.replaceAll(/[*?[\]\\()|@!+]/g, String.raw`\$&`) : text;
  if (text === '') return;
  const last = field.pieces.at(-1);
  if (typeof last === 'string') field.pieces[field.pieces.length - 1] = last + text;
  else field.pieces.push(text);
}

function gap(field: Field): void {
  field.present = true;
  // No glob of its own: that it may be one is said by the gap.
  field.pattern += String.raw`\*`;
  if (field.pieces.at(-1) !== null) field.pieces.push(null);
}

/** `*`, `?`, `[…]` and `@(…)` that are not escaped. */
function isGlob(pattern: string): boolean {
  const active = pattern.replaceAll(/\\[^]/g, '_');
  if (/[*?]/.test(active) || /[@!+]\(/.test(active)) return true;
  const open = active.indexOf('[');
  return open !== -1 && active.indexOf(']', open + 2) !== -1;
}

function empty(): Field {
  return { pieces: [], pattern: '', present: false, derived: false };
}
