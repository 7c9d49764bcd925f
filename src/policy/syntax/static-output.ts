/** What a command is known to write: `echo`, `printf` and `cat` of text that the script holds. */
import type { ShellCommand } from './script.ts';

const outputMax = 16_384;

/**
 * The output of the commands one after the other, without those that write into a pipe to a
 * later one; `null` where any of it is not known.
 */
export function staticOutput(commands: readonly ShellCommand[]): string | null {
  const piped = new Set(commands.flatMap(({ input }) => (input.kind === 'pipe' ? input.from : [])));
  let whole = '';
  for (const command of commands) {
    if (piped.has(command)) continue;
    const written = outputOf(command);
    if (written === null || whole.length + written.length > outputMax) return null;
    whole += written;
  }
  return whole;
}

function outputOf(command: ShellCommand): string | null {
  const words = command.words.map(({ value }) => value);
  const [name, ...rest] = words;
  if (command.redirects.length > 0 || command.assignments.length > 0) return null;
  const operands = rest.filter((value) => value !== null);
  if (operands.length !== rest.length) return null;
  if (name === 'echo') return echo(operands);
  if (name === 'cat' && operands.join('') === '') return inputText(command);
  return name === 'printf' ? printf(operands) : null;
}

function inputText({ input }: ShellCommand): string | null {
  if (input.kind === 'text') return input.text;
  return input.kind === 'pipe' ? staticOutput(input.from) : null;
}

function echo(operands: readonly string[]): string {
  const isOption = (operand: string): boolean => /^-[neE]+$/.test(operand);
  const count = operands.findIndex((operand) => !isOption(operand));
  const options = operands.slice(0, count === -1 ? operands.length : count).join('');
  const line = operands.slice(count === -1 ? operands.length : count).join(' ');
  const escapes = options.lastIndexOf('e') > options.lastIndexOf('E');
  return (escapes ? unescape(line) : line) + (options.includes('n') ? '' : '\n');
}

function printf(operands: readonly string[]): string | null {
  const given = operands[0] === '--' ? operands.slice(1) : operands;
  const [format = '', ...values] = given;
  if (format.startsWith('-') && given === operands) return null;
  const tokens = format.match(/%(?:%|[-+ #0]*\d*(?:\.\d+)?[a-zA-Z])|\\[^]|[^%\\]+|[^]/gu) ?? [];
  if (tokens.some((token) => /^%.*[^sbdiuc%]$/s.test(token))) return null;
  const takes = tokens.filter((token) => /^%[^%]/.test(token)).length;
  const rounds = takes === 0 ? 1 : Math.max(1, Math.ceil(values.length / takes));
  const pieces = joinEscapes(tokens);
  let [at, written] = [0, ''];
  for (let round = 0; round < rounds; round += 1) {
    if (written.length > outputMax) return null;
    for (const token of pieces) {
      if (token === '%%') written += '%';
      else if (token.startsWith('%') && token.length > 1) {
        written += converted(token, values[at] ?? '');
        at += 1;
      } else written += unescape(token);
    }
  }
  return written;
}

/** Text tokens in a row as one, so that an escape of several characters stays whole. */
function joinEscapes(tokens: readonly string[]): readonly string[] {
  const whole: string[] = [];
  for (const token of tokens) {
    const last = whole.at(-1);
    const texts = !token.startsWith('%') && last !== undefined && !last.startsWith('%');
    if (texts) whole[whole.length - 1] = last + token;
    else whole.push(token);
  }
  return whole;
}

function converted(token: string, value: string): string {
  if (token.endsWith('b')) return unescape(value);
  if (token.endsWith('c')) return String.fromCodePoint(value.codePointAt(0) ?? 0);
  return /[diu]$/.test(token) && value === '' ? '0' : value;
}

/** The escapes of `echo -e` and `printf`. */
function unescape(source: string): string {
  const letters = new Map([
    ['a', '\u0007'],
    ['b', '\b'],
    ['e', '\u001B'],
    ['E', '\u001B'],
    ['f', '\f'],
    ['n', '\n'],
    ['r', '\r'],
    ['t', '\t'],
    ['v', '\v'],
    ['\\', '\\'],
  ]);
  const escape =
    /\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|0?([0-7]{1,3})|([^]))/gu;
  return source.replaceAll(escape, (whole: string, ...groups: unknown[]) => {
    const [x, u, long, octal, letter] = groups
      .slice(0, 5)
      .map((group) => (typeof group === 'string' ? group : undefined));
    const hex = x ?? u ?? long;
    if (letter !== undefined) return letters.get(letter) ?? whole;
    const point =
      hex === undefined ? Number.parseInt(octal ?? '0', 8) % 256 : Number.parseInt(hex, 16);
    return point <= 0x10_ff_ff ? String.fromCodePoint(point) : whole;
  });
}
