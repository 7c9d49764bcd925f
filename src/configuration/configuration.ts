/**
 * User configuration of a runtime: each layer is one file, the variables or the flags. The highest
 * layer decides a single value; protecting lists are united. Pure.
 */
import { isTrlError, TrlError } from '../errors.ts';
import { limits, runtimeBounds, type RuntimeBoundName, type RuntimeBounds } from '../limits.ts';
import type { BrokerRule } from '../network-access.ts';
import type { EnvMode } from '../variable-names.ts';

/** Layers from lowest to highest. */
export const configurationLayerKinds = [
  'default',
  'system',
  'user',
  'file',
  'variable',
  'flag',
] as const;
export type ConfigurationLayerKind = (typeof configurationLayerKinds)[number];

/** Where a secret may be read from; paths are absolute. */
export type SecretSourceSetting =
  /** The daemon's own environment. */
  | { readonly kind: 'environment' }
  | { readonly kind: 'dotenv'; readonly path: string }
  /** One entry of the system's keyring; `null`: the source's own default. */
  | { readonly kind: 'keyring'; readonly name: string | null; readonly service: string | null }
  /** A directory of credentials; `null`: `$CREDENTIALS_DIRECTORY`. */
  | { readonly kind: 'systemd'; readonly path: string | null }
  /** What a program prints is the value of one secret. */
  | {
      readonly kind: 'command';
      readonly name: string;
      readonly argv: readonly [string, ...string[]];
      readonly timeoutMs: number | null;
      readonly cacheMs: number | null;
    };

export const configurableRedactionProfiles = ['strict', 'balanced', 'lenient'] as const;

/** A user-written pattern for secrets. */
export interface SecretPatternSetting {
  readonly id: string;
  readonly pattern: string;
  /** Texts of which one must be near every match; empty: none is required. */
  readonly keywords: readonly string[];
  /** `config.yaml:12:5`, for the error message about an unusable pattern. */
  readonly place: string;
}

/** Settings of the detector; a missing one comes from the profile. */
export interface RedactionThresholdSettings {
  /** Of the score, from 0 to 1: what reaches it is hidden. */
  readonly score?: number;
  /** Bits a character below which the score alone hides nothing. */
  readonly shannon?: number;
  /** Log-likelihood per pair of characters above which the score alone hides nothing. */
  readonly bigram?: number;
}

/** How one secret is used; what is absent is that of its preset. */
export type BrokerSetting = Partial<BrokerRule>;

/** A file with credentials, by its absolute path, and the hosts at which they are used. */
export interface CredentialFileSetting {
  readonly path: string;
  /** Host rules. */
  readonly hosts: readonly string[];
  /** Also without TLS; absent: never. */
  readonly plaintext?: true;
}

/** The values that one layer specifies; other layers may specify the rest. */
export interface ConfigurationValues {
  readonly envMode?: EnvMode;
  readonly withhold?: readonly string[];
  readonly secretNames?: readonly string[];
  readonly sources?: readonly SecretSourceSetting[];
  readonly brokered?: Readonly<Record<string, BrokerSetting>>;
  readonly credentialFiles?: readonly CredentialFileSetting[];
  readonly profile?: (typeof configurableRedactionProfiles)[number];
  readonly thresholds?: RedactionThresholdSettings;
  readonly patterns?: readonly SecretPatternSetting[];
  readonly limits?: Readonly<Partial<RuntimeBounds>>;
  readonly homeCaches?: readonly string[];
  readonly connectHosts?: Readonly<Record<string, string>>;
  readonly rootFiles?: readonly string[];
  readonly proxy?: string;
  readonly auditRequired?: boolean;
  readonly auditRecipients?: readonly string[];
}

export interface ConfigurationLayer {
  readonly kind: ConfigurationLayerKind;
  /** The path of the file; else what it is: `TRL_*`, `flags`. */
  readonly name: string;
  readonly given: ConfigurationValues;
  /** The position of each key, such as `terminal.env_mode` → `/etc/trl/config.yaml:3:5`. */
  readonly locations: ReadonlyMap<string, string>;
}

/** One effective setting, for people. */
export interface EffectiveSetting {
  /** Dotted: `terminal.env_mode`. */
  readonly key: string;
  readonly value: unknown;
  /** Where it comes from: `default`, `TRL_ENV_MODE`, `--env-mode`, `FILE:LINE:COLUMN`. */
  readonly origins: readonly string[];
}

export interface Configuration {
  readonly envMode: EnvMode;
  /** Names of variables that no command gets from the runtime; a final `*` matches any suffix. */
  readonly withhold: readonly string[];
  /** Variables of the daemon's environment that are secrets though their names do not say so. */
  readonly secretNames: readonly string[];
  /** In the order in which they are read. */
  readonly sources: readonly SecretSourceSetting[];
  /** Secrets that commands use at hosts and never have, by name. */
  readonly brokered: Readonly<Record<string, BrokerSetting>>;
  /** Files that commands see with placeholders in the place of credentials. */
  readonly credentialFiles: readonly CredentialFileSetting[];
  readonly redaction: {
    readonly profile: (typeof configurableRedactionProfiles)[number];
    readonly thresholds: RedactionThresholdSettings;
    readonly patterns: readonly SecretPatternSetting[];
  };
  /** Directories in HOME that persist with a project, in addition to those of known programs. */
  readonly homeCaches: readonly string[];
  /** Where names of hosts are served instead, as `address:port`. */
  readonly connectHosts: Readonly<Record<string, string>>;
  /** Files with certificates by which hosts are trusted beside the host's own list; absolute. */
  readonly rootFiles: readonly string[];
  /** URL of the proxy for hosts outside; `environment`: as the daemon's variables say; `none`. */
  readonly proxy: string;
  readonly audit: {
    /** Whether commands run only if they can be recorded. */
    readonly required: boolean;
    /** Public keys (`age1…`) of who may read raw output; none: it is not stored. */
    readonly recipients: readonly string[];
  };
  /** How much of the runtime its callers may use. */
  readonly limits: RuntimeBounds;
  /** Every key with its origin, in a fixed order. */
  readonly settings: readonly EffectiveSetting[];
  /** Files that were read, from lowest to highest. */
  readonly files: readonly string[];
}

/** Names of limits, in the order in which they are shown. */
export const runtimeBoundNames: readonly RuntimeBoundName[] = [
  'sessionsActive',
  'sessionRecords',
  'commandsConcurrent',
  'sessionIdleMs',
  'sessionGoneMs',
];

function boundsBy(value: (name: RuntimeBoundName) => number): RuntimeBounds {
  return {
    sessionsActive: value('sessionsActive'),
    sessionRecords: value('sessionRecords'),
    commandsConcurrent: value('commandsConcurrent'),
    sessionIdleMs: value('sessionIdleMs'),
    sessionGoneMs: value('sessionGoneMs'),
  };
}

/** Such as `limits.sessions_active`. */
export const runtimeBoundKey = (name: RuntimeBoundName): string =>
  `limits.${runtimeBounds[name].key}`;

function defaultBounds(): RuntimeBounds {
  return boundsBy((name) => limits[name].default);
}

/** Caches of known programs, each with the program that writes it. */
const homeCacheNames = [
  '.cache', // pip, go build, ccache, yarn, uv, playwright: the XDG base directory
  '.npm',
  '.cargo',
  'go',
  '.m2',
  '.gradle',
  '.local/share/pnpm',
  '.rustup',
];

const defaults = {
  kind: 'default',
  name: 'default',
  given: {
    envMode: 'scoped',
    withhold: [],
    secretNames: [],
    sources: [{ kind: 'environment' }],
    brokered: {},
    credentialFiles: [],
    profile: 'balanced',
    thresholds: {},
    patterns: [],
    limits: defaultBounds(),
    homeCaches: homeCacheNames,
    connectHosts: {},
    rootFiles: [],
    proxy: 'environment',
    auditRequired: true,
    auditRecipients: [],
  },
  locations: new Map(),
} as const satisfies ConfigurationLayer;

/** Keys of {@link ConfigurationValues} by the name that people write. */
export const configurationKeys = {
  envMode: 'terminal.env_mode',
  withhold: 'environment.withhold',
  secretNames: 'secrets.names',
  sources: 'secrets.sources',
  brokered: 'secrets.brokered',
  credentialFiles: 'secrets.files',
  profile: 'redaction.profile',
  thresholds: 'redaction.thresholds',
  patterns: 'redaction.patterns',
  limits: 'limits',
  homeCaches: 'home.caches',
  connectHosts: 'network.connect',
  rootFiles: 'network.roots',
  proxy: 'network.proxy',
  auditRequired: 'audit.required',
  auditRecipients: 'audit.recipients',
} as const satisfies Record<keyof ConfigurationValues, string>;

/** A command could replace a cache inside another cache with a link. */
function refuseNested(names: readonly string[]): void {
  for (const name of names) {
    const above = names.find((other) => name.startsWith(`${other}/`));
    if (above === undefined) continue;
    const why = `"${name}" lies in "${above}", which is named or lasts anyway`;
    throw new TrlError('INVALID_PARAMS', `Cannot use ${configurationKeys.homeCaches}: ${why}`);
  }
}

/**
 * Joins layers, from lowest to highest, above the defaults.
 *
 * @throws TrlError `INVALID_PARAMS` for caches of HOME of which one is inside another
 */
export function joinConfiguration(above: readonly ConfigurationLayer[]): Configuration {
  const layers = [defaults, ...above];
  const highest = (key: keyof ConfigurationValues): ConfigurationLayer | undefined =>
    layers.findLast(({ given }) => given[key] !== undefined);
  const layersWith = (key: keyof ConfigurationValues): ConfigurationLayer[] => {
    const found = layers.filter(({ given }) => given[key] !== undefined);
    return found.length > 1 ? found.filter(({ kind }) => kind !== 'default') : found;
  };
  const withhold = unique(layers.flatMap(({ given }) => given.withhold ?? []));
  const secretNames = unique(layers.flatMap(({ given }) => given.secretNames ?? []));
  const patterns = layers.flatMap(({ given }) => given.patterns ?? []);
  const thresholds = Object.assign({}, ...layers.map(({ given }) => given.thresholds ?? {}));
  const homeCaches = unique(layers.flatMap(({ given }) => given.homeCaches ?? []));
  refuseNested(homeCaches);
  const connectHosts = Object.assign({}, ...layers.map(({ given }) => given.connectHosts ?? {}));
  const brokered = Object.assign({}, ...layers.map(({ given }) => given.brokered ?? {}));
  const credentialFiles = layers.flatMap(({ given }) => given.credentialFiles ?? []);
  const rootFiles = unique(layers.flatMap(({ given }) => given.rootFiles ?? []));
  const proxy = highest('proxy')?.given.proxy ?? defaults.given.proxy;
  const recipients = unique(layers.flatMap(({ given }) => given.auditRecipients ?? []));
  const bounds = boundsBy((name) => boundOf(layers, name).value);
  // A layer that asks for a record gets one: no other layer turns it off.
  const required = strictest(layers);
  const envMode = highest('envMode')?.given.envMode ?? defaults.given.envMode;
  const sources = highest('sources')?.given.sources ?? defaults.given.sources;
  const profile = highest('profile')?.given.profile ?? defaults.given.profile;
  const one = (key: keyof ConfigurationValues, value: unknown): EffectiveSetting =>
    settingOf(key, value, [highest(key)]);
  const many = (key: keyof ConfigurationValues, value: unknown): EffectiveSetting =>
    settingOf(key, value, layersWith(key));
  return {
    envMode,
    withhold,
    secretNames,
    sources,
    brokered,
    credentialFiles,
    redaction: { profile, thresholds, patterns },
    homeCaches,
    connectHosts,
    rootFiles,
    proxy,
    audit: { required: required.given.auditRequired ?? true, recipients },
    limits: bounds,
    settings: [
      one('envMode', envMode),
      many('withhold', withhold),
      many('secretNames', secretNames),
      one('sources', sources),
      many('brokered', brokered),
      many('credentialFiles', credentialFiles),
      one('profile', profile),
      many('thresholds', thresholds),
      many('patterns', patterns),
      many('homeCaches', homeCaches),
      many('connectHosts', connectHosts),
      many('rootFiles', rootFiles),
      // Its password is nobody else's.
      one('proxy', proxy.replace(/\/\/[^@/]*@/, '//')),
      settingOf('auditRequired', required.given.auditRequired ?? true, [required]),
      many('auditRecipients', recipients),
      ...runtimeBoundNames.map((name) => boundSetting(layers, name)),
    ],
    files: layers.flatMap(({ kind, name }) =>
      kind === 'system' || kind === 'user' || kind === 'file' ? [name] : [],
    ),
  };
}

/** A setting with the positions in the layers that it comes from. */
function settingOf(
  name: keyof ConfigurationValues,
  value: unknown,
  from: readonly (ConfigurationLayer | undefined)[],
): EffectiveSetting {
  const key = configurationKeys[name];
  const origins = from.flatMap((layer) =>
    layer?.given[name] === undefined ? [] : [layer.locations.get(key) ?? layer.name],
  );
  return { key, value, origins };
}

function boundOf(layers: readonly ConfigurationLayer[], name: RuntimeBoundName) {
  const layer = layers.findLast(({ given }) => given.limits?.[name] !== undefined) ?? defaults;
  return { layer, value: layer.given.limits?.[name] ?? limits[name].default };
}

function boundSetting(
  layers: readonly ConfigurationLayer[],
  name: RuntimeBoundName,
): EffectiveSetting {
  const { layer, value } = boundOf(layers, name);
  const key = runtimeBoundKey(name);
  return { key, value, origins: [layer.locations.get(key) ?? layer.name] };
}

/** The configuration without any layer. */
export const defaultConfiguration: Configuration = joinConfiguration([]);

/** The layer that decides whether a record is required: one that requires it takes precedence. */
function strictest(layers: readonly ConfigurationLayer[]): ConfigurationLayer {
  const saying = layers.filter(
    ({ kind, given }) => kind !== 'default' && given.auditRequired !== undefined,
  );
  const firm = saying.findLast(({ given }) => given.auditRequired === true);
  return firm ?? saying.at(-1) ?? defaults;
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}

/**
 * Tries each pattern, then all together, so that one that cannot be used stops the start and not
 * the first command.
 *
 * @param compile throws TrlError for patterns that cannot be used
 * @throws TrlError `INVALID_PARAMS` with file, line and column
 */
export function checkSecretPatterns(
  patterns: readonly SecretPatternSetting[],
  compile: (patterns: readonly SecretPatternSetting[]) => unknown,
): void {
  for (const pattern of patterns) attempt(pattern.place, () => compile([pattern]));
  const [first] = patterns;
  if (first !== undefined) attempt(first.place, () => compile(patterns));
}

function attempt(place: string, compile: () => unknown): void {
  try {
    compile();
  } catch (cause) {
    if (!isTrlError(cause)) throw cause;
    const message = `Cannot use the configuration: ${place}: ${cause.message}`;
    throw new TrlError('INVALID_PARAMS', message, { cause });
  }
}
