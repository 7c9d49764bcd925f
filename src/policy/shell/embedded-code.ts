/**
 * Programs of other languages inside a command (`python -c`, `perl -e`, `awk`): only what stands
 * there literally counts, so that a mention of a command is never taken for a call.
 */
import { quoteSingle } from '../../quote.ts';
import { fileSecrecy, isSecretVariableName } from './secret.ts';

/** An effect of a program for which shell rules exist. */
export type ProgramEffect =
  | { readonly kind: 'environment' }
  | { readonly kind: 'secret-file'; readonly path: string }
  | { readonly kind: 'secret-variable'; readonly name: string }
  /** A shell command line that it starts. */
  | { readonly kind: 'shell'; readonly text: string };

const textMax = 65_536;

const printing = String.raw`(?:print|dumps?|write|pprint|pp|log|info|debug)\s*\(\s*`;
const python = /^(?:python|pypy|ipython)/;
const script = /^(?:node|nodejs|deno|bun|tsx|ts-node)/;

/** For each language: what shows all variables. */
const dumps: readonly (readonly [RegExp, RegExp])[] = [
  [
    python,
    new RegExp(
      String.raw`${printing}(?:[\w.]+\(\s*)*(?:\*\*?|\{\*\*)?\s*(?:os\.)?environb?\b` +
        String.raw`(?!\s*(?:\[|\.get|\.pop|\.setdefault))`,
    ),
  ],
  [python, /\bfor\b[^\n;]*\bin\s+(?:sorted\(|list\(|dict\()?\s*(?:os\.)?environb?\b/],
  [
    script,
    new RegExp(
      String.raw`(?:console\.\w+|stringify|inspect|write|entries|values)\s*\(\s*` +
        String.raw`(?:\{\s*\.\.\.\s*)?process\.env\s*[,)}]`,
    ),
  ],
  [script, /^\s*(?:\(?\s*\{\s*\.\.\.\s*)?process\.env\s*[})]*\s*;?\s*$/],
  [script, /\bDeno\.env\.toObject\(/],
  [/awk/, /\bin\s+ENVIRON\b/],
  [/^perl/, /%ENV\b/],
  [/ruby|irb/, /\b(?:puts|p|pp|print|warn)\s*\(?\s*ENV\b(?!\s*[.[])/],
  [/ruby|irb/, /\bENV\.(?:to_h|to_a|inspect|each|map|to_s|sort)\b/],
  [/^php/, /\bgetenv\(\s*\)|\bphpinfo\s*\(/],
  [/^php/, /\b(?:print_r|var_dump|var_export|json_encode)\s*\(\s*\$_(?:ENV|SERVER)\s*\)/],
];

const variable = [
  String.raw`process\.env\.(\w+)`,
  String.raw`process\.env\[\s*['"](\w+)`,
  String.raw`os\.environ\[\s*['"](\w+)`,
  String.raw`os\.environ\.get\(\s*['"](\w+)`,
  String.raw`(?:os\.)?getenv\(\s*['"](\w+)`,
  String.raw`ENV\[\s*['"](\w+)`,
  String.raw`\$ENV\{\s*['"]?(\w+)`,
  String.raw`ENVIRON\[\s*"(\w+)`,
].join('|');
const shownVariable = new RegExp(
  String.raw`(?:^\s*|(?:print|puts|p|echo|console\.log|say|write)\s*\(?\s*)(?:${variable})`,
  'g',
);

const literal = /(["'`])((?:\\[^]|(?!\1)[^\\])*)\1/g;
const calls =
  'system|popen|popen2|popen3|exec|execl|execlp|execv|execvp|execSync|execFile|execFileSync|' +
  'spawn|spawnSync|spawnl|check_output|check_call|call|run|Popen|getoutput|getstatusoutput|' +
  'shell_exec|passthru|proc_open|execute';
const starts = new RegExp(String.raw`(?:\b(?:${calls})|\bdo shell script)\s*[([]*\s*$`);
const between = /^[\s,[\]()]*$/;
const quotedCommand =
  /(?:\bqx|%x)\s*(?:\{([^}]*)\}|\(([^)]*)\)|\/([^/]*)\/|\[([^\]]*)\]|!([^!]*)!)/g;

/** Everything that the program is seen to do, in its first 65,536 characters. Never throws. */
export function findProgramEffects(program: string, language: string): readonly ProgramEffect[] {
  const text = program.slice(0, textMax);
  const deeds: ProgramEffect[] = [];
  if (dumps.some(([of, dump]) => of.test(language) && dump.test(text))) {
    deeds.push({ kind: 'environment' });
  }
  for (const [, ...names] of text.matchAll(shownVariable)) {
    const name = names.find((one) => one !== undefined) ?? '';
    if (isSecretVariableName(name)) deeds.push({ kind: 'secret-variable', name });
  }
  for (const [, ...bodies] of text.matchAll(quotedCommand)) {
    const body = bodies.find((one) => one !== undefined) ?? '';
    deeds.push({ kind: 'shell', text: body });
  }
  return [...deeds, ...fromLiterals(text, language)];
}

interface Literal {
  readonly quote: string;
  readonly text: string;
  readonly from: number;
  readonly to: number;
}

function fromLiterals(text: string, language: string): readonly ProgramEffect[] {
  const literals = [...text.matchAll(literal)].map((match) => ({
    quote: match[1] ?? '',
    text: unescaped(match[2] ?? ''),
    from: match.index,
    to: match.index + match[0].length,
  }));
  const deeds: ProgramEffect[] = [];
  const opens = /\b(?:open|read\w*|File|slurp|createReadStream|cat|fopen|file_get_contents|IO)\b/;
  if (opens.test(text)) {
    const files = literals.filter((one) => fileSecrecy(one.text) === 'block');
    deeds.push(...files.map((one) => ({ kind: 'secret-file', path: one.text }) as const));
  }
  for (let at = 0; at < literals.length; at += 1) {
    const first = literals[at];
    if (first === undefined || !runsLiteral(text, first, language)) continue;
    const group = together(text, literals, at);
    at += group.length - 1;
    deeds.push({ kind: 'shell', text: lineOf(group) });
  }
  return deeds;
}

/** Whether the literal is the command argument of a call. */
function runsLiteral(text: string, one: Literal, language: string): boolean {
  if (one.quote === '`' && /^(?:perl|ruby|php)/.test(language)) return true;
  if (/^\s*\|\s*getline\b/.test(text.slice(one.to, one.to + 40))) return true;
  return starts.test(text.slice(Math.max(0, one.from - 60), one.from));
}

/** A list of literals, `['rm', '-rf', 'x']`, is one command line. */
function together(text: string, literals: readonly Literal[], at: number): readonly Literal[] {
  let end = at + 1;
  for (; end < literals.length; end += 1) {
    const [before, next] = [literals[end - 1], literals[end]];
    if (before === undefined || next === undefined) break;
    if (!between.test(text.slice(before.to, next.from))) break;
  }
  return literals.slice(at, end);
}

function lineOf(group: readonly Literal[]): string {
  if (group.length === 1) return group[0]?.text ?? '';
  return group.map(({ text }) => quoteSingle(text)).join(' ');
}

function unescaped(text: string): string {
  return text.replaceAll(/\\([^])/g, (_, letter: string) => (letter === 'n' ? '\n' : letter));
}
