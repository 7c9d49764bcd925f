/** What a command of PowerShell or cmd would do, as far as its text tells. Pure. */
import { limits } from '../../limits.ts';
import type { Analysis } from '../analysis.ts';
import { openFound } from '../shell/classify.ts';
import { lookedAlways } from '../shell/walk.ts';
import type * as shellWalk from '../shell/walk.ts';
import type * as shell from '../syntax/script.ts';
import { isPast, openBudget } from '../syntax/budget.ts';
import { invisibles } from '../syntax/characters.ts';
import { allowed } from './allow.ts';
import { judge as judgeCmd } from './cmd/judge.ts';
import { readCmd } from './cmd/read.ts';
import { judge as judgePowerShell } from './powershell/judge.ts';
import { readPowerShell } from './powershell/read.ts';
import { dynamicText, ofProblem, tooDeep, tooLong } from './reasons.ts';
import { report, type Dialect, type Inside, type Walk } from './walk.ts';
import type { Command, Script } from './words.ts';

const depthMax = 8;

/**
 * Reads `text` as the shell would: every command at any depth, held against the refused classes.
 * Only a single plain command of the closed list is allowed. Never throws; over 64 KiB only the
 * first 64 KiB are read.
 */
export function analyseWindows(text: string, shell: Dialect): Analysis {
  const budget = openBudget();
  const found = openFound(budget, judgeForeign);
  const part = within(text);
  const script = read(part, shell, budget.deadline);
  const walk = judged(script, shell, { found, carrier: null, via: [] });
  const whole = { ...blank, span: [0, text.length] as const };
  if (part.length < text.length) report(walk, tooLong, whole, '');
  for (const { code, span } of [...script.problems, ...invisibles(part)]) {
    report(walk, ofProblem(code), { ...blank, span }, part.slice(...span));
  }
  const [only] = script.commands;
  const clear = found.findings.length === 0 && script.commands.length === 1;
  const accepted = clear && only !== undefined ? allowed(only, shell) : null;
  return {
    findings: found.findings,
    allowed: accepted,
    named: [...found.named.values()],
    commands: script.commands.length,
  };
}

const blank: Command = {
  kind: 'command',
  span: [0, 0],
  words: [],
  input: [],
  shown: false,
  calls: [],
};

/** The part of the text that is read: no more than the bound, in UTF-8. */
function within(text: string): string {
  const bytesMax = limits.policyBytes.default;
  if (Buffer.byteLength(text) <= bytesMax) return text;
  return Buffer.from(text)
    .subarray(0, bytesMax)
    .toString()
    .replace(/\uFFFD+$/, '');
}

const read = (text: string, dialect: Dialect, deadline: number): Script =>
  dialect === 'powershell' ? readPowerShell(text, deadline) : readCmd(text, deadline);

/** Judges every command of a script; what is written in other commands comes with them. */
function judged(
  script: Script,
  dialect: Dialect,
  place: Pick<Walk, 'found' | 'carrier' | 'via'>,
): Walk {
  const consumers = new Map<Command, Command>();
  for (const command of script.commands) {
    for (const from of command.input) consumers.set(from, command);
  }
  const walk: Walk = { ...place, dialect, aliases: new Map(), consumers, nested };
  const judge = dialect === 'powershell' ? judgePowerShell : judgeCmd;
  for (const command of script.commands) {
    place.found.looked += 1;
    const few = place.found.looked <= lookedAlways.commands;
    if (!few && isPast(place.found.budget)) {
      report(walk, ofProblem('limit.time'), command, '');
      break;
    }
    judge(walk, command);
  }
  return walk;
}

/** `powershell -c TEXT` and `cmd /c TEXT` that a shell of Unix starts. */
export function judgeForeign(command: shell.Command, at: shellWalk.Walk): void {
  const { found, carrier, via } = at;
  const words = command.words.map(({ span, value, pieces, variables }) => {
    return { span, value, pieces, variables, quoted: false, raw: null, group: [] };
  });
  const consumers = new Map<Command, Command>();
  const place = { found, carrier, via, aliases: new Map<string, string>(), consumers };
  judgeCmd({ ...place, dialect: 'cmd', nested }, { ...blank, span: command.span, words });
}

/** A script inside a command: read once, however often it is reached. */
function nested(text: string, dialect: Dialect, { walk, via, span }: Inside): void {
  const key = `${dialect}\0${text}`;
  const { found } = walk;
  const inside = { found, carrier: walk.carrier ?? span, via: [...walk.via, via] };
  const place = { ...blank, span };
  if (inside.via.length > depthMax) {
    report(walk, tooDeep, place, text);
    return;
  }
  if (found.read.has(key)) return;
  found.read.add(key);
  const script = read(text, dialect, found.budget.deadline);
  judged(script, dialect, inside);
  for (const { code } of script.problems) {
    // What was left unread in there may be anything.
    if (code.startsWith('limit.')) report(walk, ofProblem(code), place, text);
    else if (code === 'unparseable') report(walk, dynamicText, place, text);
  }
}
