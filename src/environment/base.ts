/** The variables that a command gets before anybody asked for one: a closed list. Pure. */
import { TrlError } from '../errors.ts';
import { matchesNamePattern, variableNameForm } from '../variable-names.ts';

export interface BaseInput {
  /**
   * The runtime's own environment; of it are read locale, time zone, desktop, tool locations and
   * certificates.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `PATH` as it is visible to the command. */
  readonly path: string;
  readonly home: string;
  readonly user: string;
  /** Absolute path of the session's shell. */
  readonly shell: string;
  readonly tmp: string;
  /** A private directory for sockets, such as `/run/user/1000`; `null`: none. */
  readonly runtimeDir: string | null;
  /** Trees of the host that the command sees: a tool location elsewhere is of no use to it. */
  readonly visible: readonly string[];
}

/** Programs that would wait for a person, or paint for one, do neither. */
export const nonInteractive = {
  PAGER: 'cat',
  GIT_PAGER: 'cat',
  GH_PAGER: 'cat',
  MANPAGER: 'cat',
  GIT_EDITOR: ':',
  GIT_TERMINAL_PROMPT: '0',
  DEBIAN_FRONTEND: 'noninteractive',
  NO_COLOR: '1',
  TERM: 'dumb',
} as const satisfies Record<string, string>;

/** By these a command can tell that it runs here. */
export const runtimeMarkers = { TRL_RUNTIME: '1', AGENT_FOUNDRY_RUNTIME: '1' } as const;

/** Where version managers keep what is on `PATH`; without them their shims find nothing. */
const toolLocations = [
  'ASDF_DIR',
  'DOTNET_ROOT',
  'GOROOT',
  'JAVA_HOME',
  'NVM_DIR',
  'PYENV_ROOT',
  'RBENV_ROOT',
  'RUSTUP_HOME',
  'SDKMAN_DIR',
  'VOLTA_HOME',
];

/**
 * Where the certificates are by which programs trust who they connect to. Behind a gateway that has
 * its own nothing is fetched without them.
 */
const certificateVariables = [
  'AWS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'NIX_SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'PIP_CERT',
  'REQUESTS_CA_BUNDLE',
  'SSL_CERT_DIR',
  'SSL_CERT_FILE',
] as const;

/**
 * Of the host's `XDG_*` what says how the machine is set up. The directories of the user are the
 * sandbox's own; tokens and cookies of the desktop are no command's business.
 */
const desktop = [
  'XDG_CONFIG_DIRS',
  'XDG_CURRENT_DESKTOP',
  'XDG_DATA_DIRS',
  'XDG_SESSION_DESKTOP',
  'XDG_SESSION_TYPE',
];

/** Those that libc knows; by `LC_…` people pass anything through ssh, keys too. */
const locale: ReadonlySet<string> = new Set(
  [
    'LC_ALL LC_ADDRESS LC_COLLATE LC_CTYPE LC_IDENTIFICATION LC_MEASUREMENT LC_MESSAGES',
    'LC_MONETARY LC_NAME LC_NUMERIC LC_PAPER LC_TELEPHONE LC_TIME',
  ].flatMap((line) => line.split(' ')),
);

/** The base level of a command's environment; nothing else of the host's is in it. */
export function baseEnvironment(input: BaseInput): Record<string, string> {
  const { env, home, runtimeDir } = input;
  const kept = Object.entries(env).filter(
    ([name]) => name === 'TZ' || locale.has(name) || desktop.includes(name),
  );
  return {
    ...Object.fromEntries(kept.flatMap(([name, value]) => (value ? [[name, value]] : []))),
    ...locations(input),
    PATH: input.path,
    HOME: home,
    USER: input.user,
    LOGNAME: input.user,
    SHELL: input.shell,
    TMPDIR: input.tmp,
    LANG: env['LANG'] || 'C.UTF-8',
    XDG_CACHE_HOME: `${home}/.cache`,
    XDG_CONFIG_HOME: `${home}/.config`,
    XDG_DATA_HOME: `${home}/.local/share`,
    XDG_STATE_HOME: `${home}/.local/state`,
    ...(runtimeDir === null ? {} : { XDG_RUNTIME_DIR: runtimeDir }),
    ...nonInteractive,
    ...runtimeMarkers,
  };
}

function locations({ env, visible }: BaseInput): Record<string, string> {
  const isVisible = (value: string): boolean =>
    visible.some((tree) => value === tree || value.startsWith(`${tree}/`));
  return Object.fromEntries(
    [...toolLocations, ...certificateVariables].flatMap((name) => {
      const value = env[name];
      return value !== undefined && isVisible(value) ? [[name, value]] : [];
    }),
  );
}

/**
 * Names that no command inherits in any mode: an entry ending in `*` matches every name that
 * starts so. A caller may still set `DATABASE_URL` for a command of its own.
 */
export const withheldPatterns: readonly string[] = [
  'TRL_*',
  'HERMES_API_KEY',
  'OPENROUTER_*',
  'DATABASE_URL*',
];

/**
 * Whether the host's variable `name` is withheld, by {@link withheldPatterns} or by `added`
 * patterns.
 */
export function isWithheldVariable(name: string, added: readonly string[] = []): boolean {
  return [...withheldPatterns, ...added].some((pattern) => matchesNamePattern(pattern, name));
}

/** What the base level sets itself; a value of that name from elsewhere never comes through. */
const ownNames: ReadonlySet<string> = new Set([
  ...'PATH HOME USER LOGNAME SHELL TMPDIR LANG XDG_RUNTIME_DIR'.split(' '),
  ...'XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME'.split(' '),
  ...Object.keys(nonInteractive),
  ...Object.keys(runtimeMarkers),
]);

/** Whether every command has a variable of this name, whatever it asks for. */
export function isBaseVariableName(name: string): boolean {
  return ownNames.has(name);
}

const shownMax = 64;

/**
 * Checks one variable that a caller set.
 *
 * @throws TrlError INVALID_PARAMS for a name that no shell could use, or a value with a NUL byte.
 *   The value is never in the message.
 */
export function checkVariable(name: string, value: string): void {
  const shown = JSON.stringify(name.slice(0, shownMax));
  if (!variableNameForm.test(name)) {
    const wanted = 'letters, digits and "_" are wanted, not starting with a digit';
    throw new TrlError('INVALID_PARAMS', `Cannot set the variable ${shown}: ${wanted}`);
  }
  if (value.includes('\0')) {
    throw new TrlError('INVALID_PARAMS', `Cannot set the variable ${shown}: its value holds NUL`);
  }
}
