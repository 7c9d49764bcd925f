/**
 * The types of parameters. Every schema's messages finish the sentence
 * `"<field>" must be …`, so that `parseParams` can name the field and what it got.
 */
import { constants } from 'node:os';
import * as z from 'zod/mini';
import type { TypeOf } from './define-method.ts';
import { policyProfiles } from '../command.ts';
import { workspaceModes } from '../change.ts';
import { limits } from '../limits.ts';

const pathBytesMax = 4_096;
const nameBytesMax = 256;
const patternsMax = 256;
const namesMax = 4_096;
const hostsMax = 256;
/** A name of 253 bytes with `*.` and a port. */
const hostTextMax = 261;
const base64Form = /^[A-Za-z0-9+/]*={0,2}$/;
const secondsMax = (limits.timeoutMs.max ?? 0) / 1_000;

/** Text that has a UTF-8 form (no half of a surrogate pair) of at most `bytesMax` bytes. */
function text(what: string, bytesMax: number) {
  return z.string({ error: what }).check(
    z.refine((value) => value.isWellFormed(), `${what} that is well-formed Unicode`),
    z.refine((value) => bytesIn(value) <= bytesMax, `${what} of at most ${bytesMax} bytes`),
  );
}

function textWithoutNul(what: string, bytesMax: number) {
  return text(what, bytesMax).check(
    z.refine((value) => !value.includes('\0'), `${what} without NUL`),
  );
}

/** A whole number from `min` to `max`; `max` defaults to the largest that JSON carries exactly. */
export function integerParam(min: number, max = Number.MAX_SAFE_INTEGER) {
  const wanted =
    max === Number.MAX_SAFE_INTEGER
      ? `a whole number >= ${min}`
      : `a whole number from ${min} to ${max}`;
  return z.int({ error: wanted }).check(z.gte(min, wanted), z.lte(max, wanted));
}

function seconds(max: number | null) {
  const wanted = max === null ? 'a number >= 0' : `a number >= 0 and <= ${max}`;
  const top = max ?? Number.MAX_SAFE_INTEGER / 1_000;
  return z.number({ error: wanted }).check(z.gte(0, wanted), z.lte(top, wanted));
}

export const booleanParam = z.boolean({ error: 'true or false' });
export const sessionIdParam = z.templateLiteral(['s-', z.string()], { error: 'a session id' });
export const execIdParam = z.templateLiteral(['x-', z.string()], { error: 'an execution id' });
export const approvalIdParam = z.templateLiteral(['a-', z.string()], { error: 'an approval id' });
export const workspaceIdParam = z.templateLiteral(['w-', z.string()], { error: 'a workspace id' });
export const commandParam = textWithoutNul('text', limits.commandBytes.max);
export const pathParam = textWithoutNul('a path', pathBytesMax);
/** The kernel's limit for one variable. */
export const searchPathParam = textWithoutNul('a list of directories', 131_072);
export const nameParam = textWithoutNul('a name', nameBytesMax);
export const execKeyParam = textWithoutNul('a key', nameBytesMax).check(
  z.minLength(1, 'a key that is not empty'),
);
export const searchTextParam = text('text', 1_024);
export const answerWordsParam = text('text', limits.approvalWords.max);
export const passphraseParam = text('text', 1_024);
export const secretValueParam = textWithoutNul('text', 64 * 1_024).check(
  z.minLength(1, 'text that is not empty'),
);
export const secretNameParam = textWithoutNul('a name', nameBytesMax);
export const secretNamesParam = z
  .array(secretNameParam, { error: 'a list of names' })
  .check(z.minLength(1, 'a list of at least one name'), z.maxLength(256, 'at most 256 names'));
const digestWanted = 'the first 8 to 64 hex digits of what was seen';
export const digestPrefixParam = z
  .string({ error: digestWanted })
  .check(z.regex(/^[0-9a-f]{8,64}$/i, { error: digestWanted }));

export const emptyParams = z.object({});
export const sessionParamsObject = z.object({ session_id: sessionIdParam });
export const execParamsObject = z.object({ exec_id: execIdParam });
/** Id of a lease; also for `exec.write` and `exec.resize`. */
export const leaseIdParam = z.exactOptional(nameParam);
export const workspaceModeParam = z.enum(workspaceModes, {
  error: '"direct", "staged" or "discard"',
});
export const policyProfileParam = z.enum(policyProfiles, {
  error: '"trusted", "auto", "guarded" or "locked"',
});
/** The longest wait for a person's decision. */
export const approvalWaitMsMax = 3_600_000;

export const limitsParam = z.strictObject(
  {
    cpu_s: z.exactOptional(integerParam(1)),
    processes: z.exactOptional(integerParam(1, limits.processes.max)),
    open_files: z.exactOptional(integerParam(1, limits.openFiles.max)),
    file_bytes: z.exactOptional(integerParam(0)),
    memory_bytes: z.exactOptional(integerParam(1)),
    address_space_bytes: z.exactOptional(integerParam(1)),
    journal_bytes: z.exactOptional(integerParam(1, limits.journalBytes.max)),
  },
  { error: 'an object of bounds' },
);

/** Seconds, fractions allowed; 0 means the default. */
export const timeoutSecondsParam = seconds(secondsMax);
export const timeoutMsParam = integerParam(0, limits.timeoutMs.max ?? undefined);
/** For `exec.start`: without a default limit. */
export const detachedSecondsParam = seconds(limits.detachedTimeoutMs.max);
export const detachedMsParam = integerParam(0, limits.detachedTimeoutMs.max ?? undefined);

export const encodingParam = z.enum(['utf8', 'base64'], { error: '"utf8" or "base64"' });
/**
 * Text or base64 of at most 1 MiB decoded; {@link isEncodedWithinLimit} checks what it decodes to.
 */
export const encodedParam = z.string({ error: 'text' });
export const encodedParamHint = `text of at most ${limits.stdinBytes.max} bytes, well-formed`;

/** Whether `data` has the encoding `form` and decodes to at most `limits.stdinBytes` bytes. */
export function isEncodedWithinLimit(data: string, form: 'utf8' | 'base64'): boolean {
  if (form === 'utf8') return data.isWellFormed() && bytesIn(data) <= limits.stdinBytes.max;
  const isBase64 = data.length % 4 === 0 && base64Form.test(data);
  return isBase64 && Buffer.byteLength(data, 'base64') <= limits.stdinBytes.max;
}

export const environmentNamesParam = z
  .array(environmentName(), { error: 'a list of names' })
  .check(z.maxLength(namesMax, `a list of at most ${namesMax} names`));

/** Host rules and presets; what each may be is checked where they are expanded. */
export const hostsParam = z
  .array(text('a host or a preset', hostTextMax).check(z.minLength(1, 'a host or a preset')), {
    error: 'a list of hosts',
  })
  .check(z.maxLength(hostsMax, { error: `at most ${hostsMax} hosts` }));

export const hostNameParam = text('the name of a host', hostTextMax);

/** Secrets and their hosts; what each may be is checked where they are read. */
export const brokerParam = z
  .array(
    z.string({ error: 'NAME or NAME=HOST,HOST' }).check(
      z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}(?:=[^\s=]{1,4096})?$/, {
        error: 'NAME or NAME=HOST,HOST',
      }),
    ),
    { error: 'a list of secrets' },
  )
  .check(z.maxLength(namesMax, `a list of at most ${namesMax} names`));

/** Digests of redactions, as in a receipt. */
export const revealedDigestsParam = z
  .array(z.string().check(z.regex(/^[0-9a-f]{32}$/u, 'the "digest" of a redaction')), {
    error: 'a list of digests',
  })
  .check(
    z.maxLength(limits.redactionEntries.max, `at most ${limits.redactionEntries.max} digests`),
  );

/** Variables by name, without a prototype: names come from outside. */
export const environmentParam = z.pipe(
  z
    .record(z.string(), z.string({ error: 'text' }), { error: 'an object of text by name' })
    .check((payload) => {
      for (const [key, value] of Object.entries(payload.value)) {
        const message = whyNotVariable(key, value);
        if (message === null) continue;
        payload.issues.push({ code: 'custom', input: value, path: [key], message });
        return;
      }
      const bytes = Object.entries(payload.value)
        .map(([key, value]) => bytesIn(key) + bytesIn(value) + 2)
        .reduce((sum, each) => sum + each, 0);
      if (bytes <= limits.envBytes.max) return;
      const message = `at most ${limits.envBytes.max} bytes in all`;
      payload.issues.push({ code: 'custom', input: payload.value, path: [], message });
    }),
  z.transform((env): Readonly<Record<string, string>> => withoutPrototype(env)),
);

export const patternsParam = z
  .array(pathParam, { error: 'a list of paths' })
  .check(z.maxLength(patternsMax, `a list of at most ${patternsMax} paths`));

const changedPathsMax = 10_000;
/** Paths in a workspace, relative or absolute. */
export const changedPathsParam = z
  .array(pathParam, { error: 'a list of paths' })
  .check(z.maxLength(changedPathsMax, `a list of at most ${changedPathsMax} paths`));
const base64PathsWanted = 'a list of paths in base64';
export const changedPathsBase64Param = z
  .array(
    z
      .string({ error: base64PathsWanted })
      .check(z.refine((one) => base64Form.test(one) && one.length <= 8_192, base64PathsWanted)),
    { error: base64PathsWanted },
  )
  .check(z.maxLength(changedPathsMax, `a list of at most ${changedPathsMax} paths`));
/** Parameters that name changed paths. */
export const changedPathParams = {
  /** Relative to the workspace, or absolute inside it. */
  paths: z.exactOptional(changedPathsParam),
  /** The same as bytes, for names that are not UTF-8; relative. */
  paths_base64: z.exactOptional(changedPathsBase64Param),
};

/** Exactly one of `exec_id` and `other`. */
export const exactlyOneTarget = (other: 'session_id' | 'id') =>
  z.refine<Readonly<Record<string, unknown>>>(
    (given) => (given['exec_id'] === undefined) !== (given[other] === undefined),
    { path: ['exec_id'], error: `given, or "${other}", and not both` },
  );

const treeWanted = 'an id like "tree:sha256:…"';
export const treeIdParam = z
  .templateLiteral(['tree:sha256:', z.string()], { error: treeWanted })
  .check(z.regex(/^tree:sha256:[0-9a-f]{64}$/, { error: treeWanted }));

/** `TERM`, `SIGTERM` → `SIGTERM`. */
export const signalParam = z.pipe(
  z
    .string({ error: 'a signal name' })
    .check(z.refine((value) => signalNames.has(fullSignalName(value)), 'a signal name like "INT"')),
  z.transform(fullSignalName),
);
const signalNames: ReadonlySet<string> = new Set(Object.keys(constants.signals));

function fullSignalName(value: string): string {
  return value.startsWith('SIG') ? value : `SIG${value}`;
}

function environmentName() {
  const wanted = 'a name that is not empty and has no "=" or NUL';
  return z.string({ error: wanted }).check(
    z.refine(isVariableName, wanted),
    z.refine((name) => bytesIn(name) <= nameBytesMax, `a name of at most ${nameBytesMax} bytes`),
  );
}

function whyNotVariable(key: string, value: string): string | null {
  if (!isVariableName(key)) return 'named without "=" or NUL, and not empty';
  if (value.includes('\0')) return 'text without NUL';
  return value.isWellFormed() ? null : 'text that is well-formed Unicode';
}

function isVariableName(key: string): boolean {
  return key !== '' && !/[=\0]/.test(key) && key.isWellFormed();
}

function withoutPrototype(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const bare: Record<string, string> = Object.create(null);
  return Object.assign(bare, env);
}

function bytesIn(value: string): number {
  return Buffer.byteLength(value, 'utf8');
}

export type LimitParams = TypeOf<typeof limitsParam>;
