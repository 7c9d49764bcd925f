/**
 * What a command left in its shell: untrusted bytes, read as data. Values live here, in the
 * runner's memory, and nowhere else.
 */
import type { Plan, SessionId } from '../command.ts';
import type { KnownSecret } from '../redacted.ts';
import { limits } from '../limits.ts';
import { isInjectionName } from '../variable-names.ts';
import { parseExports } from './exported-variables.ts';
import type { ShellState } from './shell-script.ts';
import { startVariables } from './shell-script.ts';
import { variableMac } from './wire.ts';

export const emptyShellState: ShellState = {
  cwd: null,
  set: new Map(),
  unset: new Set(),
  functions: '',
  options: '',
};

export interface ShellStateCapture {
  readonly state: ShellState;
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

/** Names the shell sets by itself, and those of our prologue: `__after` would be run. */
const shellNames = new Set(
  'PWD SHLVL _ BASH_EXECUTION_STRING __a __after __b __e __n __o'.split(' '),
);
const nameForm = /^[A-Za-z_][A-Za-z0-9_]*$/;
const prefixes: Readonly<Record<string, 'cwd' | 'sh' | 'functions' | 'options'>> = {
  C: 'cwd',
  P: 'sh',
  F: 'functions',
  O: 'options',
};

interface Dump {
  cwd: string;
  sh: string;
  functions: string;
  options: string;
  variables: Map<string, string>;
}

/** The last complete dump in `bytes`, or `null`: an incomplete one never counts. */
function parseDump(bytes: Buffer): Dump | null {
  const parts = bytes.toString('utf8').split('\0');
  const end = parts.lastIndexOf('E');
  if (end < 0) return null;
  const previous = parts.lastIndexOf('E', end - 1);
  const dump: Dump = { cwd: '', sh: '', functions: '', options: '', variables: new Map() };
  let bare = false;
  let listed = false;
  for (const part of parts.slice(previous + 1, end)) {
    if (part === 'B') {
      bare = true;
      continue;
    }
    if (bare) {
      const at = part.indexOf('=');
      if (at > 0) dump.variables.set(part.slice(0, at), part.slice(at + 1));
      continue;
    }
    if (part.startsWith('X')) {
      const exported = parseExports(part.slice(1));
      if (exported === null) return null;
      dump.variables = exported;
      listed = true;
      continue;
    }
    const field = prefixes[part.charAt(0)];
    if (field !== undefined) dump[field] = part.slice(1).replace(/\n$/, '');
  }
  return bare || listed ? dump : null;
}

/** Why a variable does not carry, or `null`. */
function refusal(name: string, value: string, plan: Plan, sh: string): string | null {
  if (!nameForm.test(name)) return 'not a variable name';
  if (value.includes('\uFFFD')) return 'not UTF-8 text';
  if (Object.hasOwn(plan.command_env, name)) {
    return value === plan.command_env[name] ? '' : 'a variable of that command only';
  }
  if (isInjectionName(name)) return 'a loader or shell injection variable';
  if (Buffer.byteLength(value) > limits.stateValueBytes.max) return 'larger than 64 KiB';
  if (name === 'PATH' && !sh.startsWith('/')) return 'a PATH that finds no sh';
  return null;
}

/**
 * The state after `plan`, given the bytes its shell wrote and the state it started from.
 * Answers `null` when nothing complete was captured: then the previous state remains.
 */
export function captureShellState(
  bytes: Buffer,
  plan: Plan,
  before: ShellState,
): ShellStateCapture | null {
  if (bytes.length > limits.stateBytes.max) return null;
  const dump = parseDump(bytes);
  if (dump === null || !dump.cwd.startsWith('/')) return null;
  const started = startVariables({ ...plan, command_env: {} }, before);
  const set = new Map<string, string>();
  const unset = new Set<string>();
  const dropped: { name: string; reason: string }[] = [];
  for (const [name, value] of dump.variables) {
    if (shellNames.has(name) || name.startsWith('TRL_')) continue;
    if (value === plan.env[name]) continue;
    const previous = before.set.get(name);
    const own = Object.hasOwn(plan.command_env, name);
    // What the caller set for the session, and the command did not change, always remains.
    if (value === previous && !own) {
      set.set(name, value);
      continue;
    }
    const reason = refusal(name, value, plan, dump.sh);
    if (reason === null) {
      set.set(name, value);
      continue;
    }
    if (reason !== '') dropped.push({ name, reason });
    if (previous !== undefined) set.set(name, previous);
  }
  for (const name of started.keys()) {
    if (dump.variables.has(name) || shellNames.has(name)) continue;
    // The command did not unset a variable that its own one hid.
    if (!Object.hasOwn(plan.command_env, name)) unset.add(name);
  }
  for (const name of before.unset) if (!dump.variables.has(name)) unset.add(name);
  const state = { cwd: dump.cwd, set, unset, functions: dump.functions, options: dump.options };
  return { state, dropped };
}

const shellFunctions = 'shell functions';
const shellOptions = 'shell options';

/** Entries that the command changed, by name: earlier ones are not checked again. */
export function changedStateParts(
  state: ShellState,
  before: ShellState,
): [name: string, value: string][] {
  const set = [...state.set].filter(([name, value]) => before.set.get(name) !== value);
  const { functions, options } = state;
  return [
    ...set,
    ...(functions === before.functions ? [] : [[shellFunctions, functions] satisfies CheckPair]),
    ...(options === before.options ? [] : [[shellOptions, options] satisfies CheckPair]),
  ];
}
type CheckPair = [name: string, value: string];

/** The capture without the parts of these names, which hold a known secret. */
export function withoutSecretParts(
  { state, dropped }: ShellStateCapture,
  before: ShellState,
  names: readonly string[],
): ShellStateCapture {
  if (names.length === 0) return { state, dropped };
  const set = new Map(state.set);
  for (const name of names) {
    const previous = before.set.get(name);
    if (previous === undefined) set.delete(name);
    else set.set(name, previous);
  }
  const functions = names.includes(shellFunctions) ? before.functions : state.functions;
  const options = names.includes(shellOptions) ? before.options : state.options;
  const named = names.map((name) => ({ name, reason: 'it holds a secret' }));
  return { state: { ...state, set, functions, options }, dropped: [...dropped, ...named] };
}

/** Values remembered of one session; the oldest go first. */
const sessionSecretsMax = 64;

/** The carried states of all sessions. */
export class ShellStates {
  readonly #states = new Map<SessionId, ShellState>();
  readonly #secret = new Map<SessionId, Map<string, KnownSecret>>();

  get(session: SessionId): ShellState {
    return this.#states.get(session) ?? emptyShellState;
  }
  put(session: SessionId, state: ShellState): void {
    this.#states.set(session, state);
  }
  fork(from: SessionId, to: SessionId): void {
    this.#states.set(to, this.get(from));
    this.#secret.set(to, new Map(this.#secret.get(from)));
  }
  set(session: SessionId, cwd: string | null, variables: ReadonlyMap<string, string>): void {
    const state = this.get(session);
    const set = new Map([...state.set, ...variables]);
    this.#states.set(session, { ...state, cwd: cwd ?? state.cwd, set });
  }
  unset(session: SessionId, names: readonly string[]): void {
    const { set, ...rest } = this.get(session);
    const kept = new Map([...set].filter(([name]) => !names.includes(name)));
    this.#states.set(session, { ...rest, set: kept });
  }
  delete(session: SessionId): void {
    this.#states.delete(session);
    this.#secret.delete(session);
  }
  /** Values that callers gave the session under names of secrets. */
  secrets(session: SessionId): readonly KnownSecret[] {
    return [...(this.#secret.get(session)?.values() ?? [])];
  }
  learn(session: SessionId, known: readonly KnownSecret[]): void {
    const all = this.#secret.get(session) ?? new Map<string, KnownSecret>();
    for (const one of known) all.set(one.value, one);
    for (const value of all.keys()) {
      if (all.size <= sessionSecretsMax) break;
      all.delete(value);
    }
    this.#secret.set(session, all);
  }
  /** Name → MAC of what is carried: variables, those taken away, functions and options. */
  macs(session: SessionId, key: Uint8Array): Record<string, string> {
    const { set, unset, functions, options } = this.get(session);
    const shell = { [shellFunctions]: functions, [shellOptions]: options };
    const text = Object.entries(shell).filter(([, value]) => value !== '');
    const gone = [...unset].map((name) => [name, 'unset'] as const);
    const variables = [...set].map(
      ([name, value]) => [name, variableMac(key, name, value)] as const,
    );
    const kept = text.map(([name, value]) => [name, variableMac(key, name, value)] as const);
    return Object.fromEntries([...gone, ...variables, ...kept]);
  }
  names(session: SessionId): string[] {
    return [...this.get(session).set.keys()].toSorted();
  }
}
