/**
 * The command line. Each verb is loaded when it is asked for: `trl run` and `trl --version` pay
 * for nothing else.
 */
import { TrlError } from '../errors.ts';
import { takeLauncherVariables } from '../launcher-variables.ts';
import { parseArgs, usageError } from './args.ts';
import { printFailure } from './print.ts';
import { takesCommand } from './verb.ts';
import { verbs } from './verbs.ts';
import { version } from '../protocol/version.ts';

/** The exit code of the process. */
async function main(argv: readonly string[]): Promise<number> {
  const [first = '', second = ''] = argv;
  if (first === '--version' || first === '-V') {
    process.stdout.write(`${version()}\n`);
    return 0;
  }
  // The command line of other implementations: `trl --socket-path PATH` starts the runtime.
  if (/^--(socket-path|workspace-root|policy)(=|$)/.test(first)) {
    return runVerb('serve', argv);
  }
  // The longer name first: `mcp` is a verb, and so is `mcp install`.
  if (verbs.has(`${first} ${second}`)) {
    return runVerb(`${first} ${second}`, argv.slice(2));
  }
  if (verbs.has(first)) {
    return runVerb(first, argv.slice(1));
  }
  return explain(first, second);
}

async function runVerb(name: string, argv: readonly string[]): Promise<number> {
  const verb = verbs.get(name);
  if (verb === undefined) {
    throw usageError(name, 'there is no such verb');
  }
  // Until the flags are understood, only those before the first word are surely this program's.
  let json = argv
    .slice(
      0,
      argv.findIndex((word) => !word.startsWith('-')),
    )
    .includes('--json');
  try {
    const args = parseArgs(name, { flags: verb.flags, command: takesCommand(verb) }, argv);
    json = args.has('json');
    if (args.has('help')) {
      const { verbHelp } = await import('./help.ts');
      process.stdout.write(verbHelp(name, verb));
      return 0;
    }
    const [unwanted] = args.words;
    if (verb.words === '' && unwanted !== undefined) {
      throw usageError(name, `it takes no words, got "${unwanted}"`);
    }
    const act = await verb.load();
    return await act(args);
  } catch (error) {
    return printFailure(error, json);
  }
}

/** Help, or what the word was meant to be. */
async function explain(first: string, second: string): Promise<number> {
  const { groupHelp, overallHelp } = await import('./help.ts');
  const { nearestWord } = await import('../nearest-word.ts');
  const asked = first === 'help' || first === '--help' || first === '-h';
  const groups = new Set([...verbs.keys()].map((name) => name.split(' ')[0] ?? ''));
  if (groups.has(first) && second !== '' && !second.startsWith('-')) {
    const inside = [...verbs.keys()].flatMap((name) => {
      const [group, own] = name.split(' ');
      return group === first && own !== undefined ? [own] : [];
    });
    const near = nearestWord(second, inside);
    const hint = near === null ? '' : `; did you mean "${first} ${near}"?`;
    const code = printFailure(
      usageError(`${first} ${second}`, `there is no such verb${hint}`),
      false,
    );
    if (near === null) process.stderr.write(groupHelp(first));
    return code;
  }
  if (groups.has(first)) {
    const help = groupHelp(first);
    if (second === '--help' || second === '-h') {
      process.stdout.write(help);
      return 0;
    }
    process.stderr.write(help);
    return 125;
  }
  if (asked || first === '') {
    (asked ? process.stdout : process.stderr).write(overallHelp());
    return asked ? 0 : 125;
  }
  const near = nearestWord(first, [...groups]);
  const hint = near === null ? 'see: trl --help' : `did you mean "${near}"?`;
  return printFailure(usageError(first, `there is no such verb; ${hint}`), false);
}

/** Some verbs work elsewhere, but each must know where it is. */
function refuseNowhere(): void {
  try {
    process.cwd();
  } catch (cause) {
    const message = 'Cannot run here: the working directory was removed; change to another one';
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

takeLauncherVariables(process.env);
// A reader that went away is no failure of this program; `run` ends its command for it.
process.stderr.on('error', () => {});
const unwritten: Error[] = [];
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') unwritten.push(error);
});
let exitCode: number;
try {
  refuseNowhere();
  exitCode = await main(process.argv.slice(2));
} catch (error) {
  exitCode = printFailure(error, false);
}
// Standard input may still be open, with nobody left to read it.
await Promise.all(
  [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write('', resolve)),
  ),
);
// What is missing in a file must not look like all of it. `run` has said so itself.
const [lost] = unwritten;
if (lost !== undefined && exitCode === 0) {
  const message = `Cannot write the output: ${lost.message}`;
  exitCode = printFailure(new TrlError('INTERNAL_ERROR', message, { cause: lost }), false);
}
process.exit(exitCode);
