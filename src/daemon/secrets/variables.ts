/**
 * Variables that a command requests by name: a source of secrets or else the runtime's own
 * environment provides them. Also the inherited variables if the mode is `legacy`.
 */
import type { Configuration } from '../../configuration/configuration.ts';
import { isWithheldVariable } from '../../environment/base.ts';
import { legacyWarning, withheldNames } from '../../environment/tiers.ts';
import { usedVariables } from '../../environment/usage.ts';
import { isTrlError, TrlError } from '../../errors.ts';
import { limits } from '../../limits.ts';
import { isInjectionName, variableNameForm, type EnvMode } from '../../variable-names.ts';
import type { RequestedVariable } from '../../policy/decide.ts';
import type { EnvironmentView } from '../../api/session.ts';
import { managedVariableError, withheldVariableError } from '../../authorize.ts';
import type {
  ExecutionRequest,
  ExecutionContext,
  Authorization,
  VariableSource,
  VariableValues,
  BrokerRequest,
} from '../../execution.ts';
import type { BrokeredCredential } from '../../network-access.ts';
import type { CredentialFiles } from './credential-files.ts';
import { brokerRuleOf, makePlaceholder } from '../../secrets/broker.ts';
import type { SecretStore } from '../../secrets/secret-store.ts';
import type { SessionRecord } from '../../session/record.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface RuntimeVariablesOptions {
  readonly configuration: Pick<Configuration, 'envMode' | 'withhold' | 'brokered'>;
  readonly files: CredentialFiles;
  /** Placeholders are made with it. */
  readonly key: Uint8Array;
  readonly secrets: Pick<SecretStore, 'find' | 'value' | 'list'>;
  /** The environment that the runtime was started with. */
  readonly env: Env;
  /** The tool that manages a variable; `null` if none does. Must not throw. */
  readonly managedBy: VariableSource['managedBy'];
  readonly log: (text: string) => void;
}

const shownMax = 64;

export class RuntimeVariables implements VariableSource {
  readonly mode: EnvMode;
  /** Patterns that the configuration withholds. */
  readonly withhold: readonly string[];
  readonly files: CredentialFiles;
  readonly #options: RuntimeVariablesOptions;
  #inherited: Promise<Readonly<Record<string, string>>> | null = null;

  /** @throws TrlError `INVALID_PARAMS` for a configured name of which no hosts are known */
  constructor(options: RuntimeVariablesOptions) {
    for (const [name, setting] of Object.entries(options.configuration.brokered)) {
      if (brokerRuleOf(name, setting) === null) throw withoutHosts(name);
    }
    this.mode = options.configuration.envMode;
    this.withhold = options.configuration.withhold;
    this.files = options.files;
    this.#options = options;
  }

  managedBy(name: string, workspace: string | null): string | null {
    return this.#options.managedBy(name, workspace);
  }

  async find(
    names: readonly string[],
    brokered: readonly BrokerRequest[] = [],
  ): Promise<readonly RequestedVariable[]> {
    return Promise.all(
      names.map(async (name): Promise<RequestedVariable> => {
        const source = await this.#sourceOf(name);
        if (source === null) throw missing(name);
        const asked = brokered.find((one) => one.name === name);
        const ofFile = await this.files.ruleOf(name);
        const broker =
          ofFile === null ? this.#brokerOf(name, asked) : { ...ofFile, isConfigured: true };
        return { name, isSecret: source !== 'runtime', ...(broker === null ? {} : { broker }) };
      }),
    );
  }

  /** What a configuration brokers is never had, by any caller. */
  #brokerOf(
    name: string,
    asked: BrokerRequest | undefined,
  ): NonNullable<RequestedVariable['broker']> | null {
    const { brokered } = this.#options.configuration;
    const setting = Object.hasOwn(brokered, name) ? brokered[name] : undefined;
    if (setting === undefined && asked === undefined) return null;
    const hosts = asked?.hosts ?? null;
    const rule = brokerRuleOf(name, { ...setting, ...(hosts === null ? {} : { hosts }) });
    if (rule === null) throw withoutHosts(name);
    const own = setting === undefined ? null : brokerRuleOf(name, setting);
    const isConfigured = own !== null && rule.hosts.every((host) => own.hosts.includes(host));
    return { ...rule, isConfigured };
  }

  /**
   * Checks that every command of a session can get these variables.
   *
   * @throws TrlError `INVALID_PARAMS` if a name is withheld or no source has it
   */
  async check(names: readonly string[], withhold: readonly string[]): Promise<void> {
    const held = names.find((name) => isWithheldVariable(name, [...withhold, ...this.withhold]));
    if (held !== undefined) throw withheldVariableError(held);
    for (const name of names) {
      const manager = this.managedBy(name, null);
      if (manager !== null) throw managedVariableError(name, manager);
    }
    await this.find(names);
  }

  /** Whether commands get it by name from the runtime's environment, not as a secret. */
  async isOfRuntime(name: string): Promise<boolean> {
    return variableNameForm.test(name) && (await this.#sourceOf(name)) === 'runtime';
  }

  async values(requested: readonly RequestedVariable[]): Promise<VariableValues> {
    const { env, secrets, key } = this.#options;
    const credentials: BrokeredCredential[] = [];
    const found = await Promise.all(
      requested.map(async ({ name, isSecret, broker }): Promise<[string, string]> => {
        const own = Object.hasOwn(env, name) ? env[name] : undefined;
        const value = isSecret ? (await secrets.value(name)).value : own;
        if (value === undefined) throw missing(name);
        if (broker === undefined) return [name, value];
        const placeholder = makePlaceholder(key, name, value);
        const { isConfigured: _, ...rule } = broker;
        credentials.push({ name, placeholder, value, ...rule });
        return [name, placeholder];
      }),
    );
    const bytes = found.reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
    if (bytes > limits.envBytes.max) {
      const most = `at most ${limits.envBytes.max} bytes of values are passed on to one command`;
      throw new TrlError('QUOTA_EXCEEDED', `Cannot pass on the variables asked for: ${most}`);
    }
    return { env: Object.fromEntries(found), credentials };
  }

  fileCredentials(): Promise<readonly BrokeredCredential[]> {
    return this.files.credentials();
  }

  /** Variables that commands inherit besides the safe ones; `null` if the mode is `scoped`. */
  async inherited(): Promise<Readonly<Record<string, string>> | null> {
    if (this.mode === 'scoped') return null;
    this.#inherited ??= this.#readInherited();
    const all = Object.entries(await this.#inherited);
    return Object.fromEntries(all.filter(([name]) => this.managedBy(name, null) === null));
  }

  /** The variables of a session's commands by tier: names only, never values. */
  async view(
    record: SessionRecord,
    context: Pick<ExecutionContext, 'env' | 'inherited' | 'withhold'>,
  ): Promise<EnvironmentView> {
    const names = sessionVariables(record).requested;
    const requested = await Promise.all(
      names.map(async (name) => ({ name, source: (await this.#sourceOf(name)) ?? 'missing' })),
    );
    const own = Object.keys(context.env);
    return {
      mode: this.mode,
      safe: own.filter((name) => !context.inherited.has(name)).toSorted(),
      inherited: [...context.inherited].toSorted(),
      session: record.envKeys,
      requested,
      withheld_seen: withheldNames(Object.keys(this.#options.env), context.withhold),
    };
  }

  async #sourceOf(name: string): Promise<EnvironmentView['requested'][number]['source'] | null> {
    const { env, secrets } = this.#options;
    if (!variableNameForm.test(name)) throw wrongName(name);
    const found = isInjectionName(name) ? null : await secrets.find(name);
    // Callers choose the names, so one may equal a member of every object, such as `constructor`.
    return found?.source ?? (Object.hasOwn(env, name) ? 'runtime' : null);
  }

  /** Includes secrets of the runtime's environment, except those that cannot be masked. */
  async #readInherited(): Promise<Readonly<Record<string, string>>> {
    const { env, secrets, log, configuration } = this.#options;
    const isBrokered = (name: string): boolean => Object.hasOwn(configuration.brokered, name);
    const found = new Map<string, string>();
    for (const [name, value] of Object.entries(env)) {
      if (value !== undefined && !isBrokered(name)) found.set(name, value);
    }
    for (const { name, source } of await secrets.list()) {
      if (source !== 'environment' || isWithheldVariable(name, this.withhold)) continue;
      if (isBrokered(name)) continue;
      found.delete(name);
      try {
        found.set(name, (await secrets.value(name)).value);
      } catch (error) {
        if (!isTrlError(error)) throw error;
        log(`${name} is not inherited: ${error.message}`);
      }
    }
    return Object.fromEntries(found);
  }
}

/** Reports the source of each name and reads no value. */
export const namesOnly = (source: VariableSource): VariableSource => ({
  find: (names, brokered) => source.find(names, brokered),
  values: async () => ({ env: {}, credentials: [] }),
  fileCredentials: async () => [],
  managedBy: (name, workspace) => source.managedBy(name, workspace),
});

/** The facts about a session's variables, and the hosts that it requested, that policy needs. */
export function sessionVariables(record: SessionRecord): Authorization['session'] {
  const names = [...(record.requested ?? []), ...(record.injected ?? [])];
  const hosts = record.grants.hosts ?? [];
  const { blockedHosts: blocked = [] } = record;
  return { requested: [...new Set(names)], given: record.envKeys, hosts, blocked };
}

/** One sentence per variable that a command uses and gets only through `legacy` mode. */
export function legacyWarningsOf(
  context: ExecutionContext,
  record: SessionRecord,
  request: ExecutionRequest,
): string[] {
  // The search looks for the syntax of shells.
  if (request.language === 'python') return [];
  const own = new Set([
    ...Object.keys(request.env),
    ...(request.requested ?? []),
    ...record.envKeys,
    ...sessionVariables(record).requested,
  ]);
  const hidden = [...context.inherited].filter((name) => !own.has(name)).toSorted();
  return usedVariables(request.command, hidden).map(legacyWarning);
}

function missing(name: string): TrlError {
  if (isInjectionName(name)) {
    const reason = 'programs run what this variable says, and no source of secrets gives it';
    return new TrlError('INVALID_PARAMS', `Cannot pass on the variable ${name}: ${reason}`);
  }
  const message = `Cannot pass on the variable ${JSON.stringify(name)}: no source of secrets and`;
  const help = `a person can give it: trl secrets set ${name}`;
  return new TrlError('INVALID_PARAMS', `${message} not the runtime's environment has it; ${help}`);
}

function withoutHosts(name: string): TrlError {
  const shown = JSON.stringify(name.slice(0, shownMax));
  const why = 'no hosts are known for it';
  const help = `name them: secrets.brokered.${name}.hosts in config.yaml, or --broker ${name}=HOST`;
  return new TrlError('INVALID_PARAMS', `Cannot broker the secret ${shown}: ${why}; ${help}`);
}

function wrongName(name: string): TrlError {
  const shown = JSON.stringify(name.slice(0, shownMax));
  const wanted = 'letters, digits and "_" are wanted, not starting with a digit';
  return new TrlError('INVALID_PARAMS', `Cannot pass on the variable ${shown}: ${wanted}`);
}
