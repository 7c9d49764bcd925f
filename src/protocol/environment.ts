/** The tiers of an environment as `session.info` tells them. */
import type { EnvMode } from '../variable-names.ts';
import type { SecretEntry } from './secrets.ts';

/** The tiers of a session's environment, by name; values are in no answer. */
export interface EnvironmentView {
  readonly mode: EnvMode;
  /** What every command has. */
  readonly safe: readonly string[];
  /** What it has by `legacy` mode alone. */
  readonly inherited: readonly string[];
  /** What the session's caller set. */
  readonly session: readonly string[];
  /** What each command gets by name, as far as policy lets it, and where it comes from. */
  readonly requested: readonly {
    readonly name: string;
    readonly source: SecretEntry['source'] | 'runtime' | 'missing';
  }[];
  /** What the runtime has and withholds from every command. */
  readonly withheld_seen: readonly string[];
}
