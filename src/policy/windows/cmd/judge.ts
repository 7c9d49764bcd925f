/** Which commands of cmd are refused. */
import {
  dumpsEnvironment,
  perhapsSecretFile,
  secretFile,
  secretVariable,
} from '../../shell/reasons.ts';
import { lookUp } from '../../commands/table.ts';
import { isSecretName } from '../../shell/secret.ts';
import { insideWsl, judgeCmd, judgePowerShell } from '../interpreters.ts';
import * as reasons from '../reasons.ts';
import { judgeProgram, programName, report, secrecyOf, secretsIn, type Walk } from '../walk.ts';
import { legible, type Command, type Word } from '../words.ts';

/** Commands of cmd itself that nothing is held against: programs of that name are others. */
const plain = new Set(
  (
    'assoc break cd chdir cls color copy date dir endlocal exit ftype goto md mkdir ' +
    'mklink move path pause popd prompt pushd ren rename setlocal shift time title ' +
    'ver verify vol where xcopy'
  ).split(' '),
);

/** How many wrappers are followed. */
const viaMax = 8;

/** One command, and what it starts. */
export function judge(walk: Walk, command: Command): void {
  const [first] = command.words;
  if (first === undefined) return;
  if (first.value === null) {
    report(walk, reasons.dynamicName, command);
    return;
  }
  const name = programName(first.value);
  switch (name) {
    case 'del':
    case 'erase':
      if (switched(command, 's')) report(walk, reasons.deletesBelow, command);
      break;
    case 'rd':
    case 'rmdir':
      if (switched(command, 's')) report(walk, reasons.removesDirectory, command);
      break;
    case 'format':
      if (command.words.length > 1 && !switched(command, '?')) {
        report(walk, reasons.formats, command);
      }
      break;
    case 'shutdown':
      if (!switched(command, '?') && !switched(command, 'a')) {
        report(walk, reasons.endsMachine, command);
      }
      break;
    case 'taskkill':
      if (switched(command, 'f')) report(walk, reasons.killsByForce, command);
      break;
    case 'runas':
    case 'gsudo':
      if (!switched(command, '?')) report(walk, reasons.gainsRights, command);
      break;
    case 'set':
      judgeSet(walk, command);
      break;
    case 'echo':
      for (const secret of secretsIn(command.words).slice(0, 1)) {
        report(walk, secretVariable, command, `%${secret}%`);
      }
      break;
    case 'type':
    case 'more':
    case 'findstr':
    case 'find':
    case 'certutil':
      judgeReader(walk, command, name);
      if (name !== 'type' && name !== 'certutil') judgeFed(walk, command);
      break;
    default:
      if (lookUp(name)?.node.reads !== undefined) judgeFed(walk, command);
      judgeStarted(walk, command, name);
  }
}

function judgeStarted(walk: Walk, command: Command, name: string): void {
  const inside = (words: readonly Word[]): void => {
    if (words.length === 0) return;
    if (walk.via.length >= viaMax) report(walk, reasons.tooDeep, command);
    else judge({ ...walk, via: [...walk.via, name] }, { ...command, words });
  };
  switch (name) {
    case 'call':
      inside(command.words.slice(1));
      break;
    case 'start':
      inside(afterStart(command.words.slice(1)));
      break;
    case 'powershell':
    case 'pwsh':
      judgePowerShell(walk, command, programName);
      break;
    case 'cmd':
      judgeCmd(walk, command, programName);
      break;
    case 'wsl':
      if (insideWsl(command.words).length > 0) {
        judgeProgram(walk, { ...command, words: insideWsl(command.words) }, programName);
      }
      break;
    case 'forfiles':
      judgeForFiles(walk, command);
      break;
    default:
      if (!plain.has(name)) judgeProgram(walk, command, programName);
  }
}

/** Whether `/s` is among the switches, also glued: `/f/s/q`, `x/s`, or with a dash: `-f`. */
function switched({ words }: Command, letter: string): boolean {
  return words.some((word, at) => {
    if (at === 0 || word.quoted) return false;
    const text = legible(word).toLowerCase();
    return (
      text === `-${letter}` ||
      text
        .split('/')
        .slice(1)
        .some((one) => one.split(':')[0] === letter)
    );
  });
}

/** `set` shows all, `set API` all that begin so, `set X=1` none. */
function judgeSet(walk: Walk, command: Command): void {
  const text = command.words
    .slice(1)
    .map((word) => legible(word))
    .join(' ')
    .trim();
  if (text === '') report(walk, dumpsEnvironment, command);
  else if (!text.includes('=') && !text.startsWith('/') && isSecretName(text.toUpperCase())) {
    report(walk, secretVariable, command);
  }
}

function judgeReader(walk: Walk, command: Command, name: string): void {
  const operands = command.words
    .slice(1)
    .filter((word) => word.quoted || !/^[/-]/.test(legible(word)));
  const given = command.words.some((word) => /^\/[cg]:/i.test(legible(word)));
  const files = name.startsWith('find') && !given ? operands.slice(1) : operands;
  const listed = name === 'certutil' ? files.slice(0, 1) : files;
  for (const word of listed) {
    const secrecy = secrecyOf(word);
    if (secrecy === 'block') report(walk, secretFile, command);
    else if (secrecy === 'ask') report(walk, perhapsSecretFile, command);
  }
}

/** `more < .env`. */
function judgeFed(walk: Walk, command: Command): void {
  for (const from of command.input) {
    if (from.words[0]?.value === 'type') judgeReader(walk, from, 'type');
  }
}

/** What `start "title" /d dir /b` starts. */
function afterStart(words: readonly Word[]): readonly Word[] {
  let at = words[0]?.quoted === true ? 1 : 0;
  while (at < words.length) {
    const value = (words[at]?.value ?? '').toLowerCase();
    if (!value.startsWith('/')) break;
    at += /^\/(?:d|node|affinity|machine)$/.test(value) ? 2 : 1;
  }
  return words.slice(at);
}

/** `forfiles /s /c "cmd /c del @path"`. */
function judgeForFiles(walk: Walk, command: Command): void {
  const at = command.words.findIndex(({ value }) => /^[/-]c$/i.test(value ?? ''));
  const payload = at === -1 ? undefined : command.words[at + 1];
  if (payload === undefined) return;
  const text = payload.pieces.map((piece) => piece ?? '%gap%').join('');
  walk.nested(text, 'cmd', { walk, via: 'forfiles', span: payload.span });
}
