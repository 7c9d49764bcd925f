/**
 * Names of variables. Those of injection make the next program run something else: they never
 * carry from one command to the next, and a caller sets them only where policy lets it.
 * This module imports nothing and holds no state.
 */

/** What loaders, libc, shells, interpreters and git run or load because a variable says so. */
const injectionNames: ReadonlySet<string> = new Set(
  [
    // libc
    'GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCPATH MALLOC_TRACE NLSPATH',
    'RESOLV_HOST_CONF RES_OPTIONS TZDIR',
    // shells
    'BASH_ENV BASHOPTS ENV FPATH GLOBIGNORE IFS PROMPT_COMMAND PS0 PS4 SHELLOPTS ZDOTDIR',
    // interpreters
    'NODE_OPTIONS NODE_REPL_EXTERNAL_MODULE PERL5DB PERL5LIB PERL5OPT PERLLIB',
    'PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONHOME PYTHONINSPECT PYTHONSTARTUP',
    'RUBYLIB RUBYOPT JAVA_TOOL_OPTIONS JDK_JAVA_OPTIONS _JAVA_OPTIONS BUN_OPTIONS',
    'PHPRC PHP_INI_SCAN_DIR DOTNET_STARTUP_HOOKS R_PROFILE R_PROFILE_USER AWKLIBPATH',
    'npm_config_node_options npm_config_script_shell',
    'NPM_CONFIG_NODE_OPTIONS NPM_CONFIG_SCRIPT_SHELL',
    // libraries and editors
    'OPENSSL_CONF OPENSSL_ENGINES OPENSSL_MODULES SSH_SK_PROVIDER VIMINIT EXINIT',
    // git, ssh and less
    'GIT_ASKPASS GIT_EXEC_PATH GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_SSH GIT_SSH_COMMAND',
    'GIT_TEMPLATE_DIR SSH_ASKPASS SSH_ASKPASS_REQUIRE LESSCLOSE LESSOPEN',
  ].flatMap((line) => line.split(' ')),
);
const injectionPrefixes = [
  'LD_',
  'DYLD_',
  'BASH_FUNC_',
  'GIT_CONFIG',
  'GIT_TRACE',
  'LUA_INIT',
  'CORECLR_PROFILER',
  'COR_PROFILER',
];

/** Whether a variable of this name must not carry to the next command. */
export function isInjectionName(name: string): boolean {
  return injectionNames.has(name) || injectionPrefixes.some((prefix) => name.startsWith(prefix));
}

/**
 * How much of the runtime's environment a command gets: `scoped`, the safe variables and those that
 * were asked for; `legacy`, all that are not withheld.
 */
export const envModes = ['scoped', 'legacy'] as const;
export type EnvMode = (typeof envModes)[number];

/** The form of a name that every shell can use. */
export const variableNameForm = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Whether a pattern matches a name: the name itself, or, with a final `*`, all that start so. */
export function matchesNamePattern(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

/** Whether a name is in a list whose entries may end in `*`; as npm, without regard to case. */
export const isNameListed = (name: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) => {
    const [wanted, given] = [pattern.toLowerCase(), name.toLowerCase()];
    return wanted.endsWith('*') ? given.startsWith(wanted.slice(0, -1)) : given === wanted;
  });
