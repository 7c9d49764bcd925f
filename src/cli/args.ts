/** Reads the arguments of one verb by its row of the table. */
import { TrlError } from '../errors.ts';
import { nearestWord } from '../nearest-word.ts';
import { flagDefinitions, isFlagName } from './flags.ts';
import type { FlagDefinition, FlagName } from './flags.ts';

/** What was given. */
export class CliArguments {
  readonly #given: ReadonlyMap<FlagName, readonly string[]>;
  /** Everything from the first word on that is not a flag: flags after it are the command's. */
  readonly words: readonly string[];

  constructor(given: ReadonlyMap<FlagName, readonly string[]>, words: readonly string[]) {
    this.#given = given;
    this.words = words;
  }

  has(name: FlagName): boolean {
    return this.#given.has(name);
  }

  /** The last value given. */
  text(name: FlagName): string | undefined {
    return this.#given.get(name)?.at(-1);
  }

  all(name: FlagName): readonly string[] {
    return this.#given.get(name) ?? [];
  }

  /**
   * The value as one of `words`.
   *
   * @throws TrlError INVALID_PARAMS when it is another.
   */
  oneOf<W extends string>(name: FlagName, words: readonly W[]): W | undefined {
    const value = this.text(name);
    const found = words.find((word) => word === value);
    if (value !== undefined && found === undefined) {
      throw badValue(name, value, words.join(' or '));
    }
    return found;
  }

  /** The value as `read` understands it. @throws TrlError INVALID_PARAMS when it does not. */
  read<T>(name: FlagName, read: (text: string) => T | null, wanted: string): T | undefined {
    const value = this.text(name);
    const found = value === undefined ? undefined : read(value);
    if (found === null) {
      throw badValue(name, value ?? '', wanted);
    }
    return found;
  }
}

/** What {@link parseArgs} must know of a verb. */
interface ArgumentRules {
  readonly flags: readonly FlagName[];
  /** Whether everything behind the first word belongs to a command. */
  readonly command: boolean;
}

/**
 * Reads `argv` behind the verb's name. `--` ends the flags; where a command is taken, its first
 * word does, too.
 *
 * @throws TrlError INVALID_PARAMS for a flag the verb does not have, with the nearest it has; for
 *   a missing or unwanted value, or a flag given twice.
 */
export function parseArgs(
  verb: string,
  takes: ArgumentRules,
  argv: readonly string[],
): CliArguments {
  const given = new Map<FlagName, string[]>();
  const words: string[] = [];
  for (let at = 0; at < argv.length; at += 1) {
    const word = argv[at] ?? '';
    if (word === '--') {
      words.push(...argv.slice(at + 1));
      break;
    }
    if (!word.startsWith('-') || word === '-') {
      words.push(word);
      if (takes.command) {
        const others = argv.slice(at + 1);
        refuseFlagsBehind(verb, takes, word, others);
        words.push(...others);
        break;
      }
      continue;
    }
    const { name, value } = readFlag(verb, takes, word);
    const flag: FlagDefinition = flagDefinitions[name];
    if (flag.value === null && value !== undefined) {
      // A value of a secret that was put here by mistake would be in the log of a script.
      const got = verb.startsWith('secrets') ? '' : `, got "${value}"`;
      throw usageError(verb, `"--${name}" takes no value${got}`);
    }
    const before = given.get(name) ?? [];
    if (before.length > 0 && flag.many !== true && flag.value !== null) {
      throw usageError(verb, `"--${name}" is given twice`);
    }
    if (flag.value === null) {
      given.set(name, ['']);
    } else {
      at += value === undefined ? 1 : 0;
      const taken = value ?? argv[at];
      if (taken === undefined) {
        throw usageError(verb, `"--${name}" needs a value (${flag.value})`);
      }
      given.set(name, [...before, taken]);
    }
  }
  return new CliArguments(given, words);
}

/**
 * `trl run 'make test' --json` would look for a program that is called "make test": a word with
 * spaces is shell text, and what stands behind it was meant for the verb.
 */
function refuseFlagsBehind(
  verb: string,
  takes: ArgumentRules,
  command: string,
  others: readonly string[],
): void {
  if (!/\s/.test(command)) return;
  const flag = others.find((word) => {
    const name = /^--([^=]+)/.exec(word)?.[1] ?? '';
    return isFlagName(name) && takes.flags.includes(name);
  });
  if (flag === undefined) return;
  const shown = flag.replace(/=.*/s, '');
  const reason = `"${shown}" is behind the command, where flags are words of it; put it before`;
  throw usageError(verb, `${reason}: trl ${verb} ${shown} …, or put -- before the command`);
}

const shortNames: ReadonlyMap<string, FlagName> = new Map([
  ['-h', 'help'],
  ['-m', 'message'],
  ['-v', 'verbose'],
]);

function readFlag(
  verb: string,
  takes: ArgumentRules,
  word: string,
): { readonly name: FlagName; readonly value: string | undefined } {
  const [, long, value] = /^--([^=]+)(?:=(.*))?$/s.exec(word) ?? [];
  const name = long ?? shortNames.get(word) ?? '';
  if (isFlagName(name) && takes.flags.includes(name)) {
    return { name, value };
  }
  const shown = long === undefined ? word : `--${long}`;
  const near = nearestWord(name, takes.flags);
  const hint = near === null ? `; see: trl ${verb} --help` : `; did you mean "--${near}"?`;
  throw usageError(verb, `there is no flag "${shown}"${hint}`);
}

/** The error of arguments that cannot be understood. */
export function usageError(verb: string, reason: string): TrlError {
  return new TrlError('INVALID_PARAMS', `Cannot run "trl ${verb}": ${reason}`);
}

function badValue(name: FlagName, value: string, wanted: string): TrlError {
  return new TrlError(
    'INVALID_PARAMS',
    `Cannot read the flag --${name}: it must be ${wanted}, got "${value}"`,
  );
}
