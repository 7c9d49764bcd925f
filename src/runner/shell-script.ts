/**
 * The texts that run inside: the shim (process 1 of the sandbox), the boot line of the command's
 * shell and the prologue that sets the stage. All are fixed, or quoted by {@link quoteSingle}; what
 * a command left behind goes through here as quoted data only.
 *
 * Descriptors:  0–2 the command's own   3 script (runner → shell)   4 status (shim → runner)
 *               5 state (shell → runner)   6 seccomp program (read and closed by bubblewrap)
 *               7 script and calls of a Python script (`python-boot.ts`)
 */
import type { Bounds, Plan, ShellDialect } from '../command.ts';
import { limits } from '../limits.ts';
import { quoteSingle } from '../quote.ts';
import { shimPauseSeconds } from './processes.ts';
import { pythonBoot, scriptFd, scriptName } from './python-boot.ts';

interface ShimOptions {
  readonly sandboxed: boolean;
  readonly pty: boolean;
  readonly umask: number;
}

/**
 * Process 1: sets the bounds, says `ready`, runs the shell, reaps, and reports how it ended.
 * Its own diagnostics ("Killed") must not look like the command's, so its stderr is closed.
 */
export function shimScript(bounds: Bounds, options: ShimOptions): string {
  const set = (name: string, flag: string, value: number | null): string =>
    value === null ? '' : `ulimit ${flag} ${value} || f="$f ${name}"; `;
  const blocks = bounds.fileBytesMax === null ? null : Math.ceil(bounds.fileBytesMax / 512);
  const kilobytes =
    bounds.addressSpaceBytesMax === null ? null : Math.ceil(bounds.addressSpaceBytesMax / 1024);
  const processes =
    bounds.processesMax === null || !options.sandboxed
      ? ''
      : `p=${bounds.processesMax}; ulimit -u $p || ulimit -p $p || f="$f processes"; `;
  const count = 'set -- /proc/[0-9]*; n=$(($#-1)); ';
  // Without a sandbox it stays while it has adopted children, so the end is reported first.
  // A process that still passes output on, like the `tee` of `exec > >(tee …)`, has time to end. A
  // shell that cannot fork any more ends by itself: its trap keeps the code.
  const settle = options.sandboxed
    ? `trap 'exit $r' EXIT; ${count}for i in 1 2 3 4 5 6; do ` +
      `[ $n -gt 0 ] && [ $n -lt 64 ] || break; echo "exit $r $n" >&4; sleep 0.02; ${count}done; `
    : `echo "exit $r 0" >&4; while k=; read -r k </proc/$$/task/$$/children; [ -n "$k" ]; ` +
      `do sleep ${shimPauseSeconds}; done; n=0; `;
  return (
    // A session leader without a terminal acquires the first one that it opens.
    (options.pty ? ': </proc/self/fd/0; ' : '') +
    `umask ${options.umask.toString(8)}; exec 8>&2 2>/dev/null; f=; ulimit -c 0 || f="$f core"; ` +
    set('cpu_s', '-t', bounds.cpuSeconds) +
    set('file_bytes', '-f', blocks) +
    set('address_space_bytes', '-v', kilobytes) +
    processes +
    set('open_files', '-n', bounds.openFilesMax) +
    `echo "ready$f" >&4; ` +
    `(exec 2>&8 8>&- 4>&- 5>&-; exec "$@"); r=$?; ${settle}` +
    `echo "exit $r $n" >&4; exit $r`
  );
}

/**
 * What a bash that has to wait does meanwhile, so that its command need not: loads the locale and
 * runs once what every command runs, which leaves nothing behind but memory pages in place.
 */
const warmUp = (locale: string): string =>
  `read -t 0 -u3 || { LC_ALL=${quoteSingle(locale)} :; builtin pwd; type -P sh; ` +
  `builtin export -p; } >/dev/null 2>&1; `;

/** How the shell is started so that it waits for its script and then runs it. */
export function shellBootArgs(dialect: ShellDialect, locale: string): string[] {
  switch (dialect) {
    case 'bash':
      // -N reads in blocks; the command's text takes the place that `bash -c` gives it.
      return [
        '--noprofile',
        '--norc',
        '-c',
        warmUp(locale) +
          `IFS=' ' read -r -u3 __a __b || exit 125; ` +
          `IFS= LC_ALL=C read -r -N "$__a" -u3 REPLY; ` +
          `IFS= LC_ALL=C read -r -N "$__b" -u3 BASH_EXECUTION_STRING; exec 3<&-; ` +
          `eval "$REPLY"; eval "$BASH_EXECUTION_STRING"; eval "\${__after-exit}"`,
        'bash',
      ];
    case 'zsh':
      return ['-f', '-c', `eval "$(cat <&3)"`, 'zsh'];
    case 'posix':
      return ['-c', `eval "$(cat <&3)"`, 'sh'];
  }
}

/**
 * Runs when the shell ends and writes NUL-separated state to process 1's descriptor 5: `C` cwd,
 * `P` the `sh` that PATH finds, `F` functions, `O` options, then the variables, as `X` and
 * what `export -p` prints or as `B`, NAME=VALUE…, then `E`. In bash by builtins only: a process
 * costs a millisecond.
 */
function capture(dialect: ShellDialect, whole: boolean): string {
  const to = '2>/dev/null >"/proc/$PPID/fd/5"';
  if (dialect !== 'bash') {
    return (
      `{ __e=$?; set +efux; printf C; pwd; printf '\\0P'; command -v sh; printf '\\0B\\0'; ` +
      `/usr/bin/env -0 && printf 'E\\0'; } ${to}; exit $__e`
    );
  }
  // The options are read before they are reset for the capture itself.
  const options = whole ? `__o=$(set +o); ` : '';
  const shell = whole
    ? `printf F; declare -f; printf '\\0O%s\\n' "$__o"; shopt -p; alias -p; printf '\\0'; `
    : '';
  return (
    `{ __e=$?; ${options}set +efuvx; printf C; builtin pwd; printf '\\0P'; type -P sh; ` +
    `printf '\\0'; ${shell}printf X; builtin export -p; printf '\\0E\\0'; } ${to}; exit $__e`
  );
}

/** The state that a command starts with, besides its plan. */
export interface ShellState {
  readonly cwd: string | null;
  readonly set: ReadonlyMap<string, string>;
  readonly unset: ReadonlySet<string>;
  /** Function definitions and options, only with `carry: "shell"`. */
  readonly functions: string;
  readonly options: string;
}

/** Variables in the order of rising precedence: plan, carried, this command's own. */
export function startVariables(plan: Plan, carried: ShellState): Map<string, string> {
  const all = new Map(Object.entries(plan.env));
  if (plan.carry !== 'none' && plan.argv === null) {
    for (const name of carried.unset) all.delete(name);
    for (const [name, value] of carried.set) all.set(name, value);
  }
  for (const [name, value] of Object.entries(plan.command_env)) all.set(name, value);
  return all;
}

const ancestors = (path: string): string[] => {
  const found: string[] = [];
  for (let at = path; at !== '/' && at !== ''; at = at.slice(0, at.lastIndexOf('/'))) {
    found.push(at);
  }
  return found;
};

function changeDirectory(plan: Plan, carried: ShellState): string {
  const status = '>"/proc/$PPID/fd/4"';
  if (plan.cwd !== null) {
    const cwd = quoteSingle(plan.cwd);
    // The path may be a link by now, or be in the session's own layer.
    const enter = plan.cwd_is_real
      ? `{ cd -P -- ${cwd} 2>/dev/null && [ "$PWD" = ${cwd} ]; }`
      : `cd -- ${cwd} 2>/dev/null`;
    return `${enter} || { echo nocwd ${status}; exit 126; }`;
  }
  const wanted = carried.cwd ?? plan.cwd_fallback;
  const others = [...ancestors(wanted).slice(1), plan.cwd_fallback, '/']
    .map((path) => `cd -- ${quoteSingle(path)} 2>/dev/null`)
    .join(' || ');
  const first = `cd -- ${quoteSingle(wanted)} 2>/dev/null`;
  return `${first} || { ${others}; echo "fallback $PWD" ${status}; }`;
}

/** Names that a shell refuses to set, ending the script, or takes for something of its own. */
const ownNames: Readonly<Record<ShellDialect, ReadonlySet<string>>> = {
  bash: new Set(['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'PPID', 'SHELLOPTS', 'UID']),
  posix: new Set(['PPID']),
  zsh: new Set(
    [
      'ARGC EGID ERRNO EUID GID HISTCMD LINENO PPID TTYIDLE UID USERNAME ZSH_SUBSHELL',
      'argv cdpath fignore fpath funcstack mailpath manpath module_path path pipestatus psvar',
      'signals status watch',
    ].flatMap((line) => line.split(' ')),
  ),
};

/** What the runner sends down the script pipe. */
export function shellScript(plan: Plan, carried: ShellState): string {
  const variables = startVariables(plan, carried);
  // A carried OLDPWD makes `cd -` work; the shell sets PWD and SHLVL itself.
  const exports = [...variables]
    .filter(([name]) => !ownNames[plan.shell.dialect].has(name))
    .map(([name, value]) => `export ${name}=${quoteSingle(value)}`);
  const old = carried.set.get('OLDPWD');
  const bash = plan.shell.dialect === 'bash';
  const lines = [
    ...exports,
    // `cd -` of zsh knows only where it was itself.
    ...(old !== undefined && plan.shell.dialect === 'zsh'
      ? [`cd -- ${quoteSingle(old)} 2>&-`]
      : []),
    changeDirectory(plan, carried),
    // Exported, so that what the command's own `cd` makes of it is captured.
    old === undefined ? 'unset OLDPWD; export OLDPWD' : `OLDPWD=${quoteSingle(old)}`,
    ...(plan.carry === 'shell' && bash && plan.argv === null && plan.language === undefined
      ? [carried.functions, `{ ${carried.options}\n:; } 2>/dev/null`]
      : []),
    ...captureLines(plan),
  ];
  const text = textOf(plan);
  if (bash) {
    const prologue = Buffer.from(`unset -v __a __b REPLY\n${lines.join('\n')}`);
    const command = Buffer.from(text);
    return `${prologue.length} ${command.length}\n${prologue.toString()}${command.toString()}`;
  }
  return `exec 3<&-\n${lines.join('\n')}\neval ${quoteSingle(text)}\neval "\${__after-exit}"\n`;
}

function textOf(plan: Plan): string {
  if (plan.language === 'python') return python(plan);
  return plan.argv === null ? plan.command : direct(plan.argv);
}

/**
 * The waiting shell becomes the interpreter, which is looked for on the runtime's `PATH`: what a
 * command of the session exported must not choose who runs a script that was approved.
 */
function python(plan: Plan): string {
  const path = quoteSingle(plan.env['PATH'] ?? '/usr/bin:/bin');
  const values = [scriptFd, JSON.stringify(scriptName), limits.scriptCallBytes.max].join(', ');
  const program = quoteSingle(`${pythonBoot}start(${values})`);
  const wanted = quoteSingle(`Python 3.8 or later is wanted in one of: ${plan.env['PATH'] ?? ''}`);
  return (
    `__p=$(PATH=${path}; command -v python3) || { ` +
    `printf '%s\\n' 'Cannot run the script: python3: not found' ${wanted} >&2; exit 127; }; ` +
    `exec "$__p" -I -c ${program}`
  );
}

/**
 * The waiting shell becomes the program: every word is a quoted literal, so none of them is read
 * by the shell's rules, and nothing of the shell is left when the program starts.
 */
const direct = (argv: readonly string[]): string => `exec ${argv.map(quoteSingle).join(' ')}`;

/** Whether the shell leaves state; a program that replaces it does not. */
const leavesState = ({ mode, carry, argv, language }: Plan): boolean =>
  mode === 'foreground' && carry !== 'none' && argv === null && language === undefined;

/**
 * State is captured when the shell exits. A command with a trap of its own may have replaced
 * ours, so then it is also captured in a subshell right after the command.
 */
function captureLines(plan: Plan): string[] {
  if (!leavesState(plan)) return [];
  const text = capture(plan.shell.dialect, plan.carry === 'shell');
  const after = `__e=$?; ( (exit $__e); ${text} ); exit $__e`;
  return [
    ...(/\btrap\b/.test(plan.command) ? [`__after=${quoteSingle(after)}`] : []),
    `trap ${quoteSingle(text)} EXIT`,
  ];
}
