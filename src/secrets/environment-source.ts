/** The runtime's own environment as a source: those variables that are secrets, and no other. */
import { isSecretVariable } from './secret-name.ts';
import { isVariableName } from './source.ts';
import type { SecretSource } from './source.ts';

export interface EnvironmentSourceOptions {
  /** Names that are secrets besides those that look like one. */
  readonly names: readonly string[];
  /** Whether commands never get the variable: then it is masked, and not offered. */
  readonly isWithheld: (name: string) => boolean;
}

export class EnvironmentSource implements SecretSource {
  readonly kind = 'environment';
  readonly origin = null;
  readonly cacheMs = null;
  readonly #offered = new Map<string, string>();
  readonly #hidden: { readonly name: string; readonly value: string }[] = [];

  constructor(
    env: Readonly<Record<string, string | undefined>>,
    options: EnvironmentSourceOptions,
  ) {
    const named = new Set(options.names);
    for (const [name, value = ''] of Object.entries(env)) {
      if (value === '' || !(named.has(name) || isSecretVariable(name, value))) continue;
      const isOffered = isVariableName(name) && !options.isWithheld(name);
      if (isOffered) this.#offered.set(name, value);
      else this.#hidden.push({ name, value });
    }
  }

  /** It is what the runtime was started with. */
  mark(): string {
    return '';
  }

  async names(): Promise<readonly string[]> {
    return [...this.#offered.keys()];
  }

  async read(name: string): Promise<string | null> {
    return this.#offered.get(name) ?? null;
  }

  hidden(): readonly { readonly name: string; readonly value: string }[] {
    return this.#hidden;
  }
}
