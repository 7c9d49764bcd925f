/**
 * Finds arguments of a tool's calls that a program would read as code: an argument in the text of a
 * shell or interpreter is part of the program; so is one on the standard input of a shell, and one
 * that names the script. Finds only plainly written ones. Pure.
 */
import { isInjectionName } from '../variable-names.ts';
import {
  templateInputNames,
  parseToolTemplate,
  type ToolTemplate,
  type ToolCommandWord,
} from './tool-template.ts';

/** The parts of a definition that matter. */
export interface ToolCommandText {
  readonly command: readonly ToolCommandWord[];
  readonly stdin: string | null;
  readonly input: {
    readonly required?: readonly string[] | undefined;
    readonly properties?: Readonly<Record<string, { readonly type: string }>> | undefined;
  };
}

/** Where in the file, and why. */
export interface ToolCodeProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

interface TemplateWord {
  readonly text: string;
  readonly path: readonly (string | number)[];
  /** Arguments that it puts in. */
  readonly inputs: readonly string[];
  /** It begins with an argument. */
  readonly leads: boolean;
  /** It is there in every call. */
  readonly always: boolean;
}

interface Interpreter {
  readonly names: RegExp;
  /** Options whose value is the program, or names it. */
  readonly code: RegExp;
  /** Options that take the next word for something else. */
  readonly valued: RegExp;
  /** Those of them that may hold an argument. */
  readonly data?: RegExp;
  /** Words before the script. */
  readonly verbs?: RegExp;
  /** With one of these standard input is code, too. */
  readonly reads?: RegExp;
  /** Standard input is data even without a script. */
  readonly filters?: true;
  /** What follows the code is no option any more. */
  readonly lasts?: true;
}

/** Matches nothing. */
const none = /(?!)/;
const interpreters: readonly Interpreter[] = [
  // The text behind `-c` is the first word that is no option, as a script would be.
  {
    names: /^((ba|da|z|k|mk|ok|ya|a|fi|rba|t?c)?sh)[0-9.]*$/,
    code: none,
    valued: /^[-+][A-Za-z]*[oO]$|^--(rcfile|init-file)$/,
    reads: /^-[A-Za-z]*s$/,
  },
  {
    names: /^(python|pypy)[0-9.]*$/,
    code: /^-[A-Za-z]*[cm]$/,
    valued: /^-[A-Za-z]*[WX]$/,
    reads: /^-[bBdEIOPqsSuvx]*i[bBdEIOPqsSuvx]*$/,
    lasts: true,
  },
  {
    names: /^(node|nodejs|deno|bun|tsx|ts-node)$/,
    code: /^(-[A-Za-z]*[ep]|--eval|--print)$/,
    valued: /^(-r|--require|--import|--(experimental-)?loader|-C|--conditions|--env-file)$/,
    verbs: /^(run|eval|x|test)$/,
    reads: /^(-i|--interactive)$/,
  },
  { names: /^perl[0-9.]*$/, code: /^-[A-Za-z0-9]*[eE]$/, valued: /^-I$/ },
  { names: /^(ruby|jruby)[0-9.]*$/, code: /^-[A-Za-z]*e$/, valued: /^-[IrCEK]$/ },
  { names: /^php[0-9.]*$/, code: /^-[rBREfF]$/, valued: /^-[dczSt]$/ },
  {
    names: /^(lua(jit)?[0-9.]*|tclsh[0-9.]*|wish|expect|Rscript|osascript|julia|elixir|guile)$/,
    code: /^-[ecfE]$|^--eval$/,
    valued: /^-l$/,
  },
  { names: /^(pwsh|powershell)$/i, code: /^-(c|command|f|file|e|encodedcommand)$/i, valued: none },
  {
    names: /^[gmn]?awk$/,
    code: /^(-[fe]|--file|--source)$/,
    valued: /^(-[vF]|--assign|--field-separator)$/,
    data: /^(-[vF]|--assign|--field-separator)/,
    filters: true,
  },
  {
    names: /^g?sed$/,
    code: /^(-[A-Za-z]*[ef]|--expression|--file)$/,
    valued: /^-l$/,
    filters: true,
  },
];

/**
 * What runs another program, the first word of its own that is no option; with its options that
 * take the next word for something else.
 */
const wrappers: ReadonlyMap<string, RegExp> = new Map([
  ['env', /^(-[uCa]|--unset|--chdir|--argv0)$/],
  ['sudo', /^(-[ugpChrtTUDR]|--user|--group|--chdir)$/],
  ['doas', /^-[uC]$/],
  ['nice', /^(-n|--adjustment)$/],
  ['ionice', /^-[cnp]$/],
  ['stdbuf', /^-[ioe]$/],
  ['timeout', /^(-[ks]|--kill-after|--signal)$/],
  ['time', /^-[fo]$/],
  ['xargs', /^-[InPLdEsa]$/],
  ['strace', /^-[abeEIoOpPsSuUX]$/],
  ['npx', /^(-p|--package)$/],
  ['uvx', /^--(from|with|python)$/],
  ...['nohup', 'setsid', 'command', 'exec', 'busybox', 'chronic', 'setpriv', 'bunx'].map(
    (name): [string, RegExp] => [name, none],
  ),
]);
/** The same, by a word behind its name. */
const runners: ReadonlyMap<string, RegExp> = new Map([
  ['npm', /^(exec|x)$/],
  ['pnpm', /^(exec|dlx)$/],
  ['yarn', /^(exec|dlx)$/],
  ['bundle', /^exec$/],
  ...['uv', 'poetry', 'pipenv', 'pdm', 'hatch', 'rye', 'pipx'].map((name): [string, RegExp] => [
    name,
    /^run$/,
  ]),
]);
/** What `env` makes of a word: many words, or a variable by which a program runs something else. */
const splits = /^(-[A-Za-z0-9]*S|--split-string(=|$))/;
const assigned = /^([A-Za-z_][A-Za-z0-9_]*)=/;
const choosesCode = /^(PATH|PYTHONPATH|NODE_PATH)$/;
/** What `find` runs. */
const findsProgram = /^-(exec|ok)(dir)?$/;
/** What hands its words to a shell, behind so many of its own. */
const shells: ReadonlyMap<string, number> = new Map([
  ['ssh', 1],
  ['watch', 0],
  ['eval', 0],
]);
/** Programs whose standard input is commands, whatever their words are. */
const commanded = /^(ed|red|ex|dc|at|batch|crontab|parallel)$/;
/** Programs of which one option takes code, wherever they stand. */
const takesCode = /^(su|runuser|script|flock|sg)$/;
const codeOption = /^(-[A-Za-z]*[cer]|--eval|--command)$/;
const commandOption = /^(-[A-Za-z]*c|--command)$/;
const gluedOption = /^(-[A-Za-z]*[cerE]|--(eval|command|print|expression|source)=)$/;
const standardInput = /^(-|\/dev\/(stdin|fd\/0)|\/proc\/(self|thread-self)\/fd\/0)$/;

const asCode = 'the program would read the argument as code';
const inOwnWord = 'take it as "$1" or the like, in a word of its own';

/** Each argument that would be code. */
export function findCodeArguments(tool: ToolCommandText): ToolCodeProblem[] {
  const words = placedIn(tool);
  const at = programAt(words, tool);
  const found = [
    ...wrapperCode(words.slice(0, at + 1)),
    ...optionCode(words, at),
    ...programCode(words.slice(at), tool),
  ];
  return found.filter(
    ({ path }, at) => found.findIndex((one) => String(one.path) === String(path)) === at,
  );
}

function placedIn(tool: ToolCommandText): TemplateWord[] {
  const { command, input } = tool;
  const required = new Set(input.required);
  // Among other text a number is a number, whatever reads it; alone it may name a file.
  const inputsIn = (template: ToolTemplate): string[] =>
    templateInputNames(template).filter((name) => template.length === 1 || !isNumber(tool, name));
  return command.flatMap((word, at) => {
    const texts = typeof word === 'string' ? [word] : word;
    const templates = texts.map(templateOf);
    const always = templates.every((one) =>
      templateInputNames(one).every((name) => required.has(name)),
    );
    return texts.map((text, inner) => ({
      text,
      path: ['command', at, ...(typeof word === 'string' ? [] : [inner])],
      inputs: inputsIn(templates[inner] ?? []),
      leads: typeof templates[inner]?.[0] === 'object',
      always,
    }));
  });
}

/** Other code reports a template that cannot be parsed. */
function templateOf(text: string): ToolTemplate {
  try {
    return parseToolTemplate(text);
  } catch {
    return [text];
  }
}

const baseOf = (text: string): string => text.replace(/^.*\//, '').replace(/\.exe$/i, '');
const interpreterOf = ({ text }: TemplateWord): Interpreter | undefined =>
  interpreters.find(({ names }) => names.test(baseOf(text)));

/** The program, or the one that a wrapper runs; the last word and more where there is none. */
function programAt(words: readonly TemplateWord[], tool: ToolCommandText): number {
  let at = 0;
  for (;;) {
    const base = baseOf(words[at]?.text ?? '');
    const runs = runners.get(base)?.test(words[at + 1]?.text ?? '') === true;
    const valued = runs ? none : wrappers.get(base);
    if (valued === undefined) return at;
    at += runs ? 2 : 1;
    while (isPassed(words, at, { valued, tool })) at += 1;
  }
}

function isPassed(
  words: readonly TemplateWord[],
  at: number,
  { valued, tool }: { readonly valued: RegExp; readonly tool: ToolCommandText },
): boolean {
  const word = words[at];
  if (word === undefined) return false;
  if (/^-|^[0-9.]+[smhd]?$/.test(word.text) || assigned.test(word.text)) return true;
  if (valued.test(words[at - 1]?.text ?? '')) return true;
  return word.leads && word.inputs.every((name) => isNumber(tool, name));
}

/** What the words before the program make of an argument. */
function wrapperCode(words: readonly TemplateWord[]): ToolCodeProblem[] {
  return words.flatMap(({ text, path, inputs }, at) => {
    if (inputs.length === 0 || at === 0) return [];
    const name = assigned.exec(text)?.[1] ?? null;
    const chooses = name !== null && (isInjectionName(name) || choosesCode.test(name));
    const isSplit =
      splits.test(text) || /^(-[A-Za-z0-9]*S|--split-string)$/.test(words[at - 1]?.text ?? '');
    return chooses || isSplit ? [{ path, message: `${asCode}: ${inOwnWord}` }] : [];
  });
}

const isNumber = ({ input }: ToolCommandText, name: string): boolean =>
  ['integer', 'number'].includes(input.properties?.[name]?.type ?? '');

/** Behind an option for code, of an interpreter that stands among the words of another program. */
function optionCode(words: readonly TemplateWord[], from: number): ToolCodeProblem[] {
  return words.flatMap((word, at) => {
    const interpreter = interpreterOf(word);
    const isOne = interpreter === undefined ? takesCode.test(baseOf(word.text)) : at > from;
    return isOne && at >= from ? codeBehind(words.slice(at), interpreter) : [];
  });
}

function codeBehind(
  words: readonly TemplateWord[],
  interpreter: Interpreter | undefined,
): ToolCodeProblem[] {
  const option = interpreter === undefined ? commandOption : codeOption;
  const found: ToolCodeProblem[] = [];
  // An interpreter has its script with the first word that is none of its options; the others
  // have a user or a file first.
  let plain = interpreter === undefined ? 2 : 1;
  for (const [at, { text, path, inputs }] of words.entries()) {
    if (at === 0) continue;
    const before = words[at - 1]?.text ?? '';
    const isCode = at > 1 && option.test(before);
    const literal = text.split('{input.', 1)[0] ?? '';
    const isGlued = interpreter !== undefined && gluedOption.test(literal);
    if ((isCode || isGlued) && inputs.length > 0) {
      found.push({ path, message: `${asCode}: ${inOwnWord}` });
    }
    const isValue = isCode || interpreter?.valued.test(before) === true;
    if (!isValue && !/^[-+]./.test(text)) plain -= 1;
    if (plain === 0) break;
  }
  return found;
}

/** What the program makes of its words and standard input. */
function programCode(words: readonly TemplateWord[], tool: ToolCommandText): ToolCodeProblem[] {
  const [program, ...rest] = words;
  if (program === undefined) return [];
  if (program.leads) {
    const message = 'the argument would be the program that runs: name the program here';
    return [{ path: program.path, message }];
  }
  const base = baseOf(program.text);
  if (base === 'find') return foundPrograms(rest);
  const own = shells.get(base);
  if (own !== undefined) return shellCode(rest, own, tool);
  if (commanded.test(base)) return stdinCode(base, tool);
  const interpreter = interpreterOf(program);
  return interpreter === undefined ? [] : interpreted(base, interpreter, { rest, tool });
}

function foundPrograms(words: readonly TemplateWord[]): ToolCodeProblem[] {
  const message = 'the argument would be the program that runs: name the program here';
  return words.flatMap(({ path, leads }, at) =>
    leads && findsProgram.test(words[at - 1]?.text ?? '') ? [{ path, message }] : [],
  );
}

function shellCode(
  words: readonly TemplateWord[],
  own: number,
  tool: ToolCommandText,
): ToolCodeProblem[] {
  const operands = words.filter(({ text }) => !text.startsWith('-'));
  const code = operands
    .slice(own)
    .filter(({ inputs }) => inputs.some((name) => !isNumber(tool, name)));
  const message = 'a shell would read the argument as code: give it on standard input';
  if (code.length > 0) return code.map(({ path }) => ({ path, message }));
  return operands.length > own ? [] : stdinCode('the shell', tool);
}

/** Before its script an interpreter takes no argument: it would be the script, or choose it. */
function interpreted(
  name: string,
  { code, valued, data = none, verbs = none, reads = none, filters, lasts }: Interpreter,
  { rest, tool }: { readonly rest: readonly TemplateWord[]; readonly tool: ToolCommandText },
): ToolCodeProblem[] {
  let [hasCode, readsStdin] = [false, false];
  for (const [at, { text, inputs, path, always }] of rest.entries()) {
    const before = rest[at - 1]?.text ?? '';
    const isCode = code.test(before);
    const isValue = !isCode && valued.test(before);
    const isOption = !isCode && !isValue && /^[-+]./.test(text);
    if (inputs.length > 0) {
      const isData = isValue ? data.test(before) : isOption ? data.test(text) : hasCode && !isCode;
      const message = whyNotBefore(name, isCode || codeOption.test(before));
      if (!isData) return [{ path, message }];
    } else {
      readsStdin ||= isOption ? reads.test(text) : !hasCode && standardInput.test(text);
      // A shell that reads its code from standard input has it: the words after it are arguments.
      const isTold = code === none && readsStdin;
      hasCode ||= isTold || (always && !isValue && !isOption && !verbs.test(text));
    }
    // Behind the script all is its own; behind code there may be more of it.
    if (hasCode && !isValue && !isOption && (lasts === true || !isCode)) break;
  }
  return readsStdin || !(hasCode || filters === true) ? stdinCode(name, tool) : [];
}

function whyNotBefore(name: string, isText: boolean): string {
  if (isText) return `${asCode}: ${inOwnWord}`;
  const what = `"${name}" would run what the argument says`;
  return `${what}: name the script here, and the argument behind it`;
}

function stdinCode(name: string, { stdin }: ToolCommandText): ToolCodeProblem[] {
  if (stdin === null || templateInputNames(templateOf(stdin)).length === 0) return [];
  const why = `"${name}" would read its standard input as code, and the argument with it`;
  return [{ path: ['stdin'], message: `${why}: ${inOwnWord}` }];
}
