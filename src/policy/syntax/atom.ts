/** The parts of a word, prior to braces, splitting and globs: static text and expansions. */
import type { VariableValue } from './scope.ts';

export type Atom = TextAtom | HoleAtom;

export interface TextAtom {
  readonly kind: 'text';
  readonly text: string;
  /** Unquoted text is open to brace expansion and globs. */
  readonly quoted: boolean;
  /** Whether it is quoted by backslashes. */
  readonly escaped: boolean;
}

/** Something the shell replaces. */
export interface HoleAtom {
  readonly kind: 'hole';
  /** Unquoted values are split into words. */
  readonly quoted: boolean;
  /** The name of a `$name` without braces: what follows it after brace expansion extends it. */
  readonly name: string | null;
  /** Static text in front of what is unknown: `/dev/fd/` of a process substitution. */
  readonly prefix: string;
  /** Its value if the script itself determines it, or `null`. */
  readonly values: VariableValue | null;
  /** Whether quoted values stay apart, as those of `"$@"` do. */
  readonly apart: boolean;
}

export function textAtom(value: string, quoted: boolean, escaped = false): TextAtom {
  return { kind: 'text', text: value, quoted, escaped };
}

export function holeAtom(quoted: boolean, given: Partial<HoleAtom> = {}): HoleAtom {
  return { kind: 'hole', quoted, name: null, prefix: '', values: null, apart: false, ...given };
}

/** Unquoted source text: escaped characters become quoted ones, continued lines are joined. */
export function unquotedAtoms(source: string): TextAtom[] {
  const atoms: TextAtom[] = [];
  for (const run of source.match(/\\[^]?|[^\\]+/gu) ?? []) {
    if (run === '\\\n') continue;
    const escaped = run.startsWith('\\') && run.length > 1;
    const last = atoms.at(-1);
    // One atom for many escapes in a row.
    const joins = escaped && last?.quoted === true;
    if (joins) atoms.pop();
    const value = escaped ? run.slice(1) : run;
    atoms.push(textAtom(joins ? last.text + value : value, escaped, escaped));
  }
  return atoms;
}

/** The text of atoms that are all static, else `null`. */
export function staticText(atoms: readonly Atom[]): string | null {
  let whole = '';
  for (const atom of atoms) {
    if (atom.kind === 'text') whole += atom.text;
    else if (atom.values === null) return null;
    else whole += atom.values.join(' ');
  }
  return whole;
}
