/** The command line. It loads the code of a verb only when that verb runs. */
import { TrlError } from '../errors.ts';
import { takeLauncherVariables } from '../launcher-variables.ts';
import { version } from '../protocol/version.ts';
import { parseArgs, usageError } from './args.ts';
import { printFailure, printLines } from './print.ts';
import { takesCommand } from './verb.ts';
import { verbGroups, verbs } from './verbs.ts';

/** Returns the exit code of the process. */
async function main(argv: readonly string[]): Promise<number> {
  const [first = '', second = ''] = argv;
  if (first === '--version' || first === '-V') {
    printLines([version()]);
    return 0;
  }
  // The command line of other implementations: `trl --socket-path PATH` starts the runtime.
  if (/^--(socket-path|workspace-root|policy)(=|$)/.test(first)) {
    return runVerb('serve', argv);
  }
  // The longer name first: `mcp` is a verb, and so is `mcp install`.
  if (verbs.has(`${first} ${second}`)) return runVerb(`${first} ${second}`, argv.slice(2));
  if (verbs.has(first)) return runVerb(first, argv.slice(1));
  return explain(first, second);
}

async function runVerb(name: string, argv: readonly string[]): Promise<number> {
  const verb = verbs.get(name);
  if (verb === undefined) throw usageError(name, 'there is no such verb');
  // Before the arguments are parsed, only flags in front of the first word are surely this
  // program's.
  const wordAt = argv.findIndex((word) => !word.startsWith('-'));
  let json = argv.slice(0, wordAt).includes('--json');
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

/** Prints help, or the verb that was probably meant. */
async function explain(first: string, second: string): Promise<number> {
  const { groupHelp, overallHelp, unknownVerbError } = await import('./help.ts');
  if (first === '--help' || first === '-h') {
    process.stdout.write(overallHelp());
    return 0;
  }
  if (first === '') {
    process.stderr.write(overallHelp());
    return 125;
  }
  const isGroup = verbGroups.has(first);
  if (isGroup && (second === '' || second.startsWith('-'))) {
    const isWanted = second === '--help' || second === '-h';
    (isWanted ? process.stdout : process.stderr).write(groupHelp(first));
    return isWanted ? 0 : 125;
  }
  const error = unknownVerbError([first, second]);
  const code = printFailure(error, false);
  if (isGroup && !error.message.includes('did you mean')) process.stderr.write(groupHelp(first));
  return code;
}

/** Every verb must know its working directory, also one that works elsewhere. */
function checkWorkingDirectory(): void {
  try {
    process.cwd();
  } catch (cause) {
    const message = 'Cannot run here: the working directory was removed; change to another one';
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}

takeLauncherVariables(process.env);
// A reader that closes the pipe is not a failure; `run` ends its command then.
process.stderr.on('error', () => {});
const writeErrors: Error[] = [];
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') writeErrors.push(error);
});
let exitCode: number;
try {
  checkWorkingDirectory();
  exitCode = await main(process.argv.slice(2));
} catch (error) {
  exitCode = printFailure(error, false);
}
// An open standard input must not keep the process alive.
await Promise.all(
  [process.stdout, process.stderr].map(
    (stream) => new Promise((resolve) => stream.write('', resolve)),
  ),
);
// Output cut short must not look complete. `run` reports this itself.
const [lost] = writeErrors;
if (lost !== undefined && exitCode === 0) {
  const message = `Cannot write the output: ${lost.message}`;
  exitCode = printFailure(new TrlError('INTERNAL_ERROR', message, { cause: lost }), false);
}
process.exit(exitCode);
