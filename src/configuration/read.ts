/** Parses one `config.yaml`. Pure; `load.ts` finds the files. */
import { normalHostName } from '../network/host-rules.ts';
import path from 'node:path';
import { checkRecipient } from '../sealing/keys.ts';
import { runtimeBounds } from '../limits.ts';
import { FileError, formatFileProblem, type FileProblem } from '../yaml/file-error.ts';
import { fileProblemsMax, readYamlTree, type YamlTree } from '../yaml/tree.ts';
import { describeSchemaIssue } from '../yaml/schema-problems.ts';
import { runtimeBoundKey, runtimeBoundNames, configurationKeys } from './configuration.ts';
import type {
  ConfigurationValues,
  ConfigurationLayer,
  SecretSourceSetting,
  RedactionThresholdSettings,
} from './configuration.ts';
import { configurationSchema, configurationKeysAt, type ConfigurationDocument } from './schema.ts';

/** A file that cannot be used: the runtime does not start without it. */
export class ConfigurationError extends FileError {
  constructor(file: string, problems: readonly FileProblem[], options: ErrorOptions = {}) {
    super(file, problems, { ...options, what: 'configuration' });
  }
}

export interface ConfigurationFileOrigin {
  /** Absolute: what is relative in it is relative to its directory. */
  readonly file: string;
  readonly kind: 'system' | 'user' | 'file';
  readonly home: string;
  readonly version: string;
}

/** @throws ConfigurationError with all that is wrong, in the order of the file */
export function readConfiguration(
  input: string | Uint8Array,
  of: ConfigurationFileOrigin,
): ConfigurationLayer {
  const { file, version } = of;
  const tree = readYamlTree(input, { file, Failure: ConfigurationError });
  const parsed = configurationSchema.safeParse(tree.value);
  if (!parsed.success) {
    const wording = { tree, keysAt: configurationKeysAt, notEnforced: new Set<string>(), version };
    const { issues } = parsed.error;
    throw failure(
      file,
      issues.slice(0, fileProblemsMax).flatMap((issue) => describeSchemaIssue(issue, wording)),
    );
  }
  const problems = [
    ...samePatterns(parsed.data, tree),
    ...badPaths(parsed.data, tree),
    ...badRecipients(parsed.data, tree),
  ];
  if (problems.length > 0) throw failure(file, problems);
  const given = givenBy(parsed.data, of, tree);
  const keys = [...Object.values(configurationKeys), ...runtimeBoundNames.map(runtimeBoundKey)];
  const places = keys.map((key): [string, string] => [key, placeOf(tree, file, key.split('.'))]);
  return { kind: of.kind, name: file, given, locations: new Map(places) };
}

function givenBy(
  text: ConfigurationDocument,
  of: ConfigurationFileOrigin,
  tree: YamlTree,
): ConfigurationValues {
  const { terminal, environment, secrets, redaction, home, network, audit, limits } = text;
  const { sources, names } = secrets ?? {};
  const patterns = redaction?.patterns?.map(({ id, pattern, keywords }, at) => ({
    id,
    pattern,
    keywords: keywords ?? [],
    place: placeOf(tree, of.file, ['redaction', 'patterns', at, 'pattern']),
  }));
  return {
    ...(terminal?.env_mode !== undefined && { envMode: terminal.env_mode }),
    ...(environment?.withhold !== undefined && { withhold: environment.withhold }),
    ...(names !== undefined && { secretNames: names }),
    ...(sources !== undefined && { sources: sources.map((one) => sourceOf(one, of)) }),
    ...(redaction?.profile !== undefined && { profile: redaction.profile }),
    ...(redaction?.thresholds !== undefined && { thresholds: defined(redaction.thresholds) }),
    ...(patterns !== undefined && { patterns }),
    ...(limits !== undefined && { limits: boundsOf(limits) }),
    ...(home?.caches !== undefined && { homeCaches: home.caches }),
    ...(secrets?.files !== undefined && {
      credentialFiles: secrets.files.map((one) => ({ ...one, path: absolute(one.path, of) })),
    }),
    ...(secrets?.brokered !== undefined && { brokered: secrets.brokered }),
    ...(network?.roots !== undefined && {
      rootFiles: network.roots.map((file) => absolute(file, of)),
    }),
    ...(network?.proxy !== undefined && { proxy: network.proxy }),
    ...(network?.connect !== undefined && { connectHosts: normalNames(network.connect) }),
    ...(audit?.required !== undefined && { auditRequired: audit.required }),
    ...(audit?.recipients !== undefined && { auditRecipients: audit.recipients }),
  };
}

const normalNames = (connect: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(connect).map(([name, place]) => [normalHostName(name) ?? name, place]),
  );

function boundsOf(
  text: NonNullable<ConfigurationDocument['limits']>,
): NonNullable<ConfigurationValues['limits']> {
  const given = runtimeBoundNames.map((name) => [name, text[runtimeBounds[name].key]] as const);
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}

type SourceText = NonNullable<NonNullable<ConfigurationDocument['secrets']>['sources']>[number];

function sourceOf(source: SourceText, of: ConfigurationFileOrigin): SecretSourceSetting {
  switch (source.kind) {
    case 'environment':
      return { kind: 'environment' };
    case 'dotenv':
      return { kind: 'dotenv', path: absolute(source.path, of) };
    case 'keyring':
      return { kind: 'keyring', name: source.name ?? null, service: source.service ?? null };
    case 'systemd':
      return {
        kind: 'systemd',
        path: source.path === undefined ? null : absolute(source.path, of),
      };
    case 'command': {
      const [program = '', ...rest] = source.argv;
      return {
        kind: 'command',
        name: source.name,
        argv: [program, ...rest],
        timeoutMs: source.timeout_ms ?? null,
        cacheMs: source.cache_ms ?? null,
      };
    }
  }
}

function absolute(written: string, { file, home }: ConfigurationFileOrigin): string {
  const full = written === '~' || written.startsWith('~/') ? home + written.slice(1) : written;
  return path.resolve(path.dirname(file), full);
}

/** With two patterns of one id it is unclear which one redacted a value. */
function samePatterns({ redaction }: ConfigurationDocument, tree: YamlTree): FileProblem[] {
  const patterns = redaction?.patterns ?? [];
  return patterns.flatMap(({ id }, at) =>
    patterns.findIndex((other) => other.id === id) < at
      ? [tree.problem(['redaction', 'patterns', at, 'id'], `another pattern has the id "${id}"`)]
      : [],
  );
}

/** Characters of a path in a message. */
const shownMax = 64;

/** A program is found by its path or on a fixed `PATH`, never beside the file. */
function badPaths({ secrets }: ConfigurationDocument, tree: YamlTree): FileProblem[] {
  return (secrets?.sources ?? []).flatMap((source, at) => {
    if (source.kind === 'dotenv' || source.kind === 'systemd') {
      // The home of another user is not looked up; a directory "~other" is hardly ever intended.
      if (!/^~[^/]/.test(source.path ?? '')) return [];
      const wanted = 'must be an absolute path, or begin with "~/" or "./"';
      const shown = JSON.stringify(source.path?.slice(0, shownMax));
      return [tree.problem(['secrets', 'sources', at, 'path'], `${shown} ${wanted}`)];
    }
    if (source.kind !== 'command') return [];
    const [program = ''] = source.argv;
    const isRelative = program.includes('/') && !program.startsWith('/');
    const message = `"${program}" must be the name of a program or an absolute path`;
    const place = ['secrets', 'sources', at, 'argv', 0];
    return isRelative ? [tree.problem(place, message)] : [];
  });
}

function badRecipients({ audit }: ConfigurationDocument, tree: YamlTree): FileProblem[] {
  return (audit?.recipients ?? []).flatMap((recipient, at) => {
    const why = checkRecipient(recipient);
    if (why === null) return [];
    // A text that is not a public key may be a secret one.
    const shown = recipient.startsWith('age1') ? `"${recipient.slice(0, shownMax)}"` : 'this';
    return [tree.problem(['audit', 'recipients', at], `${shown} ${why}`)];
  });
}

function defined(values: Readonly<Record<string, number | undefined>>): RedactionThresholdSettings {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function placeOf(tree: YamlTree, file: string, at: readonly (string | number)[]): string {
  return formatFileProblem(file, tree.problem(at, '')).replace(/: $/, '');
}

function failure(file: string, problems: readonly FileProblem[]): ConfigurationError {
  const ordered = problems.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return new ConfigurationError(file, ordered.slice(0, fileProblemsMax));
}
