/** Programs that PowerShell and cmd start: other shells, what they run, and the blocked ones. */
import type { FindingReason } from '../shell/analysis-context.ts';
import {
  decodedScriptReason,
  downloadedScriptReason,
  unknownScriptReason,
} from '../shell/reasons.ts';
import {
  judgeKnownProgram,
  reportWindowsFinding,
  windowsInputText,
  windowsWordOrigin,
  type WindowsAnalysisContext,
  type WindowsDialect,
} from './analysis-context.ts';
import {
  blockedPrograms,
  dynamicScriptText,
  encodedScript,
  hiddenText,
  type BlockedCommand,
} from './reasons.ts';
import { legibleWindowsWord, type WindowsCommand, type WindowsWord } from './words.ts';

/** A program by name: a shell, a blocked one, or one of the knowledge base. */
export function judgeWindowsProgram(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  name: string,
): void {
  const blocked = blockedPrograms.get(name);
  if (command.input.some(isHidden)) reportWindowsFinding(walk, hiddenText, command);
  if (name === 'powershell' || name === 'pwsh') {
    judgePowerShellStart(walk, command);
  } else if (name === 'cmd') {
    judgeCmdStart(walk, command);
  } else if (name === 'wsl') {
    const words = wslWords(command.words);
    if (words.length > 0) judgeKnownProgram(walk, { ...command, words });
  } else if (blocked === undefined) {
    judgeKnownProgram(walk, command);
  } else {
    const reason = blockedFor(command, blocked, walk.dialect);
    if (reason !== null) reportWindowsFinding(walk, reason, command);
  }
}

const isHidden = ({ words, input }: WindowsCommand): boolean =>
  words.some((word) => word.isComputed) || input.some(isHidden);

/** Why the command is blocked, or `null`. */
export function blockedFor(
  command: WindowsCommand,
  { reason, only, needsArgument = false, unless }: BlockedCommand,
  dialect: WindowsDialect,
): FindingReason | null {
  if (needsArgument && command.words.length < 2) return null;
  if (only !== undefined) return hasSwitch(command, only) ? reason : null;
  const exempt = dialect === 'cmd' ? [...(unless ?? []), '?'] : (unless ?? []);
  const isExempt = command.words.some(
    (word) => !word.quoted && exempt.some((letter) => isSwitch(word, letter)),
  );
  return isExempt ? null : reason;
}

const isSwitch = (word: WindowsWord, letter: string): boolean =>
  [`/${letter}`, `-${letter}`].includes(legibleWindowsWord(word).toLowerCase());

/** Whether `/s` is among the switches, also glued: `/f/s/q`, `x/s`, or with a dash: `-f`. */
function hasSwitch({ words }: WindowsCommand, letter: string): boolean {
  return words.slice(1).some((word) => {
    if (isSwitch(word, letter)) return true;
    const glued = legibleWindowsWord(word).toLowerCase().split('/').slice(1);
    return !word.quoted && glued.some((one) => one.split(':')[0] === letter);
  });
}

/** Options of powershell.exe and pwsh that take a value. */
const valued =
  /^(?:ex\w*|ep|w|wi\w*|v\w*|psc\w*|inp\w*|if|o|ou\w*|of|config\w*|cus\w*|set\w*|wo\w*|wd)$/;
/** After `-`, `/` or one of the dashes that PowerShell accepts for it. */
const option = /^(?:[-–—―]{1,2}|\/)([A-Za-z]+)(?::.*)?$/;

/** `powershell -enc …`, `pwsh -c "…"`, `… | powershell -`; `words` start after the name. */
function judgePowerShellStart(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const words = command.words.slice(1);
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    const value = word?.value ?? word?.pieces[0] ?? null;
    const switched = value === null ? null : option.exec(value);
    const key = switched?.[1]?.toLowerCase();
    if (key === undefined) {
      runArguments(walk, command, words.slice(at));
      return;
    }
    if ('encodedcommand'.startsWith(key) || key === 'ec') {
      reportWindowsFinding(walk, encodedScript, command);
      return;
    }
    if ('command'.startsWith(key) || key === 'commandwithargs' || key === 'cwa') {
      runArguments(walk, command, words.slice(at + 1));
      return;
    }
    if ('file'.startsWith(key)) {
      if (words[at + 1]?.value === '-') runInput(walk, command, 'powershell');
      else reportWindowsFinding(walk, unknownScriptReason, command);
      return;
    }
    if (valued.test(key)) at += 1;
  }
  runInput(walk, command, 'powershell');
}

function runArguments(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  words: readonly WindowsWord[],
): void {
  if (words.length === 0 || (words.length === 1 && words[0]?.value === '-')) {
    runInput(walk, command, 'powershell');
    return;
  }
  runText(walk, command, { words, dialect: 'powershell', via: 'powershell -Command' });
}

interface ScriptArguments {
  readonly words: readonly WindowsWord[];
  readonly dialect: WindowsDialect;
  readonly via: string;
}

/** The words as one text: PowerShell joins them as they are, cmd sees their quotes. */
function runText(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  { words, dialect, via }: ScriptArguments,
): void {
  if (words.some((word) => windowsWordOrigin(word, walk.dialect) === 'download')) {
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

/** `cmd /c "…"` drops the first and the last quote; a doubled pair is one quote. */
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
): void {
  if (command.input.length === 0) return;
  const { origin, text } = windowsInputText(command, walk.dialect);
  if (origin !== null) {
    reportWindowsFinding(
      walk,
      origin === 'download' ? downloadedScriptReason : decodedScriptReason,
      command,
    );
  }
  if (text === null) {
    reportWindowsFinding(walk, unknownScriptReason, command);
    return;
  }
  walk.nested(text, dialect, { walk, via: dialect, span: command.input[0]?.span ?? command.span });
}

/** `cmd /d /c "…"`, `cmd/c …`, `… | cmd`. */
function judgeCmdStart(walk: WindowsAnalysisContext, command: WindowsCommand): void {
  const words = command.words.slice(1);
  for (const [at, word] of words.entries()) {
    const glued = afterSwitch(word);
    if (glued === null) continue;
    const all = [...glued, ...words.slice(at + 1)];
    runText(walk, command, { words: all, dialect: 'cmd', via: 'cmd /c' });
    return;
  }
  runInput(walk, command, 'cmd');
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
function wslWords(words: readonly WindowsWord[]): readonly WindowsWord[] {
  let at = 1;
  while (at < words.length) {
    const value = words[at]?.value ?? '';
    if (value === '--' || value === '-e' || value === '--exec') return words.slice(at + 1);
    if (!value.startsWith('-') && value !== '~') break;
    at += /^(?:-d|--distribution|-u|--user|--cd|--shell-type)$/.test(value) ? 2 : 1;
  }
  return words.slice(at);
}
