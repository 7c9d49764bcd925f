/**
 * Variables of the legacy runtime. Those with the same meaning are used if no current setting
 * overrides them, and the runtime names each at its start, with what to set instead: a silently
 * ignored one would be a limit that nothing enforces.
 */
import path from 'node:path';
import { limits } from '../limits.ts';
import { runtimeBoundKey, configurationKeys } from './configuration.ts';
import type { ConfigurationLayer } from './configuration.ts';

type Env = Readonly<Record<string, string | undefined>>;

interface Older {
  /** What it is used for here. */
  readonly means: string;
  readonly instead: string;
  /** Whether the value can be used; the others are named, and not used. */
  readonly isUsable: (value: string) => boolean;
  /** What a usable value looks like. */
  readonly form: string;
}

const wholeTo = (most: number) => (value: string) =>
  /^[0-9]{1,9}$/.test(value) && Number(value) >= 1 && Number(value) <= most;

const sessionsMax = limits.sessionsActive.max ?? 1e9;
const timeoutSecondsMax = (limits.timeoutMs.max ?? 0) / 1_000;

const older = {
  TRL_MAX_SESSIONS: {
    means: 'limits.sessions_active',
    instead: 'TRL_SESSIONS_ACTIVE, or limits.sessions_active in config.yaml',
    isUsable: wholeTo(sessionsMax),
    form: `a whole number from 1 to ${sessionsMax}`,
  },
  TRL_DEFAULT_TIMEOUT_S: {
    means: 'the time-out of commands in sessions that name none',
    instead: 'timeout_s of session.create, or of the command',
    isUsable: wholeTo(timeoutSecondsMax),
    form: `whole seconds from 1 to ${timeoutSecondsMax}`,
  },
  TRL_CHILD_CPU_SEC: {
    means: 'the CPU time of processes in sessions that bound none',
    instead: 'limits.cpu_s of session.create, or cpu_seconds in a policy file',
    isUsable: wholeTo(1e9),
    form: 'whole seconds from 1',
  },
  TRL_ENV_FILE: {
    means: 'a source of secrets, which commands get by env_keys',
    instead: '{kind: dotenv, path: FILE} in secrets.sources of config.yaml',
    isUsable: (value) => path.isAbsolute(value),
    form: 'an absolute path',
  },
} as const satisfies Readonly<Record<string, Older>>;

type Name = keyof typeof older;
const names: readonly Name[] = [
  'TRL_MAX_SESSIONS',
  'TRL_DEFAULT_TIMEOUT_S',
  'TRL_CHILD_CPU_SEC',
  'TRL_ENV_FILE',
];

/** The value, where there is one that can be used. */
function usable(env: Env, name: Name): string | null {
  const value = env[name]?.trim() ?? '';
  return value !== '' && older[name].isUsable(value) ? value : null;
}

const setIn = (env: Env): readonly Name[] =>
  names.filter((name) => (env[name]?.trim() ?? '') !== '');

/** One sentence for each that is set, where a runtime has no variables of who starts it. */
export const unusedLegacyVariableNotices = (env: Env): readonly string[] =>
  setIn(env).map(
    (name) =>
      `${name} is a variable of an older runtime; the one that all programs share does not read ` +
      `it; set ${older[name].instead}`,
  );

/** One sentence for each that is set; no value is in it. */
export function legacyVariableNotices(env: Env): readonly string[] {
  return setIn(env).map((name) => {
    const { means, instead, form } = older[name];
    const used = usable(env, name) === null ? `is not used, as it is not ${form}` : means;
    const is = used === means ? `is used for ${means} where nothing else says it` : used;
    return `${name} is a variable of an older runtime; it ${is}; set ${instead}`;
  });
}

/** The layer below every file: legacy variables that are keys of this version. */
export function legacyVariableLayers(env: Env): readonly ConfigurationLayer[] {
  const sessions = usable(env, 'TRL_MAX_SESSIONS');
  const file = usable(env, 'TRL_ENV_FILE');
  if (sessions === null && file === null) return [];
  const dotenv = { kind: 'dotenv', path: file ?? '' } as const;
  return [
    {
      kind: 'variable',
      name: 'TRL_*',
      given: {
        ...(sessions !== null && { limits: { sessionsActive: Number(sessions) } }),
        ...(file !== null && { sources: [{ kind: 'environment' }, dotenv] }),
      },
      locations: new Map([
        [runtimeBoundKey('sessionsActive'), 'TRL_MAX_SESSIONS'],
        [configurationKeys.sources, 'TRL_ENV_FILE'],
      ]),
    },
  ];
}

/** Bounds of sessions whose callers name none, as `session.create` takes them. */
export interface LegacySessionBounds {
  readonly timeout_ms?: number;
  readonly cpu_s?: number;
}

export function legacySessionBounds(env: Env): LegacySessionBounds {
  const timeout = usable(env, 'TRL_DEFAULT_TIMEOUT_S');
  const cpu = usable(env, 'TRL_CHILD_CPU_SEC');
  return {
    ...(timeout !== null && { timeout_ms: Number(timeout) * 1_000 }),
    ...(cpu !== null && { cpu_s: Number(cpu) }),
  };
}
