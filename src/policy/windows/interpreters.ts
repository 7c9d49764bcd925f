/** Shells started by a command: what they are given to run. */
import { downloadedScriptReason, decodedScriptReason } from '../shell/reasons.ts';
import { dynamicScriptText, encodedScript, unknownScriptInput } from './reasons.ts';
import {
  windowsInputText,
  reportWindowsFinding,
  windowsWordOrigin,
  type WindowsDialect,
  type ProgramNameResolver,
  type WindowsAnalysisContext,
} from './analysis-context.ts';
import type { WindowsCommand, WindowsWord } from './words.ts';

/** Options of powershell.exe and pwsh that take a value, as far as needed to tell them apart. */
const valued =
  /^(?:ex\w*|ep|w|wi\w*|v\w*|psc\w*|inp\w*|if|o|ou\w*|of|config\w*|cus\w*|set\w*|wo\w*|wd)$/;
/** Given after `-`, `/` or one of the dashes that PowerShell reads alike. */
const option = /^(?:[-–—―]{1,2}|\/)([A-Za-z]+)(?::.*)?$/;

/** `powershell -enc …`, `pwsh -c "…"`, `… | powershell -`; `words` start after the name. */
export function judgePowerShellStart(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  names: ProgramNameResolver,
): void {
  const words = command.words.slice(1);
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    const value = word?.value ?? word?.pieces[0] ?? null;
    const switched = value === null ? null : option.exec(value);
    const key = switched?.[1]?.toLowerCase();
    if (key === undefined) {
      runGiven(walk, command, words.slice(at), names);
      return;
    }
    if ('encodedcommand'.startsWith(key) || key === 'ec') {
      reportWindowsFinding(walk, encodedScript, command);
      return;
    }
    if ('command'.startsWith(key) || key === 'commandwithargs' || key === 'cwa') {
      runGiven(walk, command, words.slice(at + 1), names);
      return;
    }
    if ('file'.startsWith(key)) {
      if (words[at + 1]?.value === '-') runInput(walk, command, 'powershell', names);
      else reportWindowsFinding(walk, unknownScriptInput, command);
      return;
    }
    if (valued.test(key)) at += 1;
  }
  runInput(walk, command, 'powershell', names);
}

function runGiven(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  words: readonly WindowsWord[],
  names: ProgramNameResolver,
): void {
  if (words.length === 0 || (words.length === 1 && words[0]?.value === '-')) {
    runInput(walk, command, 'powershell', names);
    return;
  }
  runText(walk, command, { words, dialect: 'powershell', names, via: 'powershell -Command' });
}

interface Given {
  readonly words: readonly WindowsWord[];
  readonly dialect: WindowsDialect;
  readonly names: ProgramNameResolver;
  readonly via: string;
}

/** The words as one text: PowerShell joins them as they are, cmd sees their quotes. */
function runText(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  { words, dialect, names, via }: Given,
): void {
  if (words.some((word) => windowsWordOrigin(word, names) === 'download')) {
    reportWindowsFinding(walk, downloadedScriptReason, command);
  }
  const gap = dialect === 'powershell' ? '$gap' : '%gap%';
  const texts = words.map((word) => {
    if (dialect === 'cmd' && word.raw !== null) return word.raw;
    const text = word.pieces.map((piece) => piece ?? gap).join('');
    return words.length > 1 && dialect === 'cmd' && /\s/.test(text) ? `"${text}"` : text;
  });
  if (words.some(({ value }) => value === null)) {
    reportWindowsFinding(walk, dynamicScriptText, command);
  }
  const span = [words[0]?.span[0] ?? 0, words.at(-1)?.span[1] ?? 0] as const;
  const text = texts.join(' ');
  walk.nested(dialect === 'cmd' ? unquoted(text) : text, dialect, { walk, via, span });
}

/** `cmd /c "…"` drops the first and the last quote; a doubled pair stands for one. */
function unquoted(text: string): string {
  const last = text.lastIndexOf('"');
  if (!text.startsWith('"') || last < 1) return text;
  const inner = text.slice(1, last) + text.slice(last + 1);
  return /^"[^"]*"$/.test(inner) ? inner.slice(1, -1) : inner;
}

/** A shell that reads its commands from the pipe. */
function runInput(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  dialect: WindowsDialect,
  names: ProgramNameResolver,
): void {
  if (command.input.length === 0) return;
  const { origin, text } = windowsInputText(command, names);
  if (origin !== null) {
    reportWindowsFinding(
      walk,
      origin === 'download' ? downloadedScriptReason : decodedScriptReason,
      command,
    );
  }
  if (text === null) {
    reportWindowsFinding(walk, unknownScriptInput, command);
    return;
  }
  walk.nested(text, dialect, { walk, via: dialect, span: command.input[0]?.span ?? command.span });
}

/** `cmd /d /c "…"`, `cmd/c …`, `… | cmd`. */
export function judgeCmdStart(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  names: ProgramNameResolver,
): void {
  const words = command.words.slice(1);
  for (const [at, word] of words.entries()) {
    const glued = afterSwitch(word);
    if (glued === null) continue;
    const all = [...glued, ...words.slice(at + 1)];
    runText(walk, command, { words: all, dialect: 'cmd', names, via: 'cmd /c' });
    return;
  }
  runInput(walk, command, 'cmd', names);
}

const runSwitch = /^(?:[/-][abdefqstuvx](?::\w+)?)*[/-][ckr]/i;

/** What is glued to `/c`, as words: none for `/c` itself. `null`: it is another switch. */
function afterSwitch(word: WindowsWord): readonly WindowsWord[] | null {
  const [head, ...others] = word.pieces;
  const found = runSwitch.exec(head ?? '');
  if (head == null || found === null) return null;
  const pieces = [head.slice(found[0].length), ...others];
  const raw = word.raw === null ? null : word.raw.replace(runSwitch, '');
  const value = word.value === null ? null : (pieces[0] ?? '');
  return pieces.join('') === '' && value !== null ? [] : [{ ...word, value, pieces, raw }];
}

/** What follows `wsl` and its options. */
export function wslCommandWords(words: readonly WindowsWord[]): readonly WindowsWord[] {
  let at = 1;
  while (at < words.length) {
    const value = words[at]?.value ?? '';
    if (value === '--' || value === '-e' || value === '--exec') return words.slice(at + 1);
    if (!value.startsWith('-') && value !== '~') break;
    at += /^(?:-d|--distribution|-u|--user|--cd|--shell-type)$/.test(value) ? 2 : 1;
  }
  return words.slice(at);
}
