/**
 * Which variables a command uses, by its text and by the programs that it names: for warnings only,
 * so that it may name one too many. Pure, and linear in the length of the text.
 */
import { matchesNamePattern } from '../variable-names.ts';
import { programVariablePatterns } from './programs.ts';

/** Longer texts are looked at only so far. */
const textLengthMax = 65_536;

const form = String.raw`[A-Za-z_]\w{0,254}`;
/** `$NAME`, `${NAME`, `$env:NAME`, `${env:NAME`, `%NAME%`. */
const reference = new RegExp(String.raw`(?:\$(?:\{[!#]?)?(?:env:)?|%)(${form})(%?)`, 'gi');
/** How languages read one: `environ["NAME"]`, `process.env.NAME`, `getenv('NAME')`. */
const access = new RegExp(
  String.raw`(?:environ|getenv|env|env::var|lookupenv|environmentvariable)` +
    String.raw`(?:_os|\.get|\.fetch|\.pop|\.setdefault)?[!?]{0,2}\s?` +
    String.raw`(?:\.|[([{]\s{0,4})["'\x60:]?(${form})`,
  'gi',
);
/** What names one without reading it in the text: `printenv NAME`, `docker run -e NAME`. */
const mention = new RegExp(
  String.raw`(?:\b(?:printenv|declare|typeset|export|readonly)(?:[ \t]{1,16}-[A-Za-z0-9]{1,8})?|` +
    String.raw`[\s]-[ve]|[\s]--env|--preserve-env=|\bSendEnv[= ])` +
    String.raw`([ \t]{0,16}${form}(?:[ \t,]{1,16}${form}){0,16})(?![=\w])`,
  'g',
);
/** `NAME=`, `read NAME`, `for NAME`: from there on it is the text's own. */
const assignment = new RegExp(
  String.raw`(?:^|[\s;&|({])` +
    String.raw`(?:(?:read(?:[ \t]{1,16}-[A-Za-z0-9]{1,8}){0,4}|for)[ \t]{1,16}(${form})|` +
    String.raw`(${form})\+?=)`,
  'g',
);

/**
 * Those of `names` that the text uses, in their order.
 *
 * @param text command text in any shell, or code in it
 */
export function usedVariables(text: string, names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const looked = text.slice(0, textLengthMax);
  const wanted = new Set(names);
  const found = new Set<string>();
  const own = firstPlaces(looked, assignment);
  const take = (name: string, at: number): void => {
    if (wanted.has(name) && at <= (own.get(name) ?? Infinity)) found.add(name);
  };
  for (const { 0: whole, 1: name = '', 2: end, index } of looked.matchAll(reference)) {
    if (!isEscaped(looked, index) && (!whole.startsWith('%') || end === '%')) take(name, index);
  }
  for (const { 1: name = '', index } of looked.matchAll(access)) take(name, index);
  for (const { 1: listed = '', index } of looked.matchAll(mention)) {
    for (const name of listed.split(/[\s,]+/)) take(name, index);
  }
  const patterns = [...new Set(programsIn(looked))].flatMap((program) =>
    programVariablePatterns(program),
  );
  return names.filter(
    (name) =>
      found.has(name) ||
      (!own.has(name) && patterns.some((pattern) => matchesNamePattern(pattern, name))),
  );
}

/** Whether an odd number of backslashes stands before `at`. */
function isEscaped(text: string, at: number): boolean {
  let first = at;
  while (text[first - 1] === '\\') first -= 1;
  return (at - first) % 2 === 1;
}

function firstPlaces(text: string, pattern: RegExp): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  for (const { 1: one, 2: other, index } of text.matchAll(pattern)) {
    const name = one ?? other ?? '';
    if (!places.has(name)) places.set(name, index);
  }
  return places;
}

/** Words after which the next word is a program again. */
const wrappers: ReadonlySet<string> = new Set(
  [
    '! builtin chronic command do doas elif else env eval exec if ionice nice nohup setsid stdbuf',
    'strace sudo then time timeout until unbuffer watch while xargs parallel npx bunx pnpx uvx',
    'poetry pipenv uv rtx mise direnv',
  ].flatMap((line) => line.split(' ')),
);
/** Of these only what they run makes a program: `uv run pytest`. */
const runs: ReadonlySet<string> = new Set(['run', 'exec', 'dlx', 'tool', '--']);

/** Words in the position of a program; quotes and substitutions begin a new command. */
function* programsIn(text: string): Generator<string> {
  let isProgram = true;
  let inCode = false;
  for (const [token] of text.matchAll(/[;&|(){}\n`]|\$\(|["']|[^\s;&|(){}`"']+/g)) {
    if (/^(?:[;&|(){}\n`]|\$\()$/.test(token)) isProgram = true;
    else if (token === '"' || token === "'") isProgram ||= inCode;
    else if (/^-[A-Za-z]*c$/.test(token) || token === 'eval') inCode = true;
    else if (isProgram) {
      if (isSkipped(token)) continue;
      yield token;
      inCode = token === 'ssh';
      isProgram = wrappers.has(token) || runs.has(token);
    }
  }
}

/** What stands before a program and is none: assignments, flags, and numbers of wrappers. */
const isSkipped = (token: string): boolean =>
  token.startsWith('-') ||
  /^[A-Za-z_]\w*\+?=/.test(token) ||
  /^[\d.]+[smhd]?$/.test(token) ||
  token === '<' ||
  token === '>';
