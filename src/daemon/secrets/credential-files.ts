/** The files of the configuration whose credentials commands use without having them. */
import { realpathSync } from 'node:fs';
import type { CredentialFileSetting } from '../../configuration/configuration.ts';
import { isTrlError } from '../../errors.ts';
import type { BrokeredCredential, BrokerRule } from '../../network-access.ts';
import type { MaskedFile } from '../../sandbox/root-filesystem.ts';
import { brokerRuleOf, makePlaceholder } from '../../secrets/broker.ts';
import { CredentialFile } from '../../secrets/credential-file.ts';

interface RuledFile {
  readonly file: CredentialFile;
  readonly rule: BrokerRule;
}

/** Programs send what is in their files in headers of many names. */
const anyHeader = '*';

export class CredentialFiles {
  readonly #files: readonly RuledFile[];
  readonly #key: Uint8Array;
  readonly #log: (text: string) => void;

  /** @param key placeholders are made with it */
  constructor(
    settings: readonly CredentialFileSetting[],
    { key, log }: { readonly key: Uint8Array; readonly log: (text: string) => void },
  ) {
    this.#files = settings.flatMap(({ path, ...setting }) => {
      const rule = brokerRuleOf('', { ...setting, headers: [anyHeader] });
      return rule === null ? [] : [{ file: new CredentialFile(path), rule }];
    });
    this.#key = key;
    this.#log = log;
  }

  get sources(): readonly CredentialFile[] {
    return this.#files.map(({ file }) => file);
  }

  /** Another text whenever a file is another one. */
  get mark(): string {
    return this.#files.map(({ file }) => file.mark()).join('\n');
  }

  /** The rule of a secret that is in one of them. */
  async ruleOf(name: string): Promise<BrokerRule | null> {
    for (const { file, rule } of this.#files) {
      if ((await this.#names(file)).includes(name)) return rule;
    }
    return null;
  }

  /** What commands see of them, at real paths; one that cannot be read is shown empty. */
  masked(): readonly MaskedFile[] {
    return this.#files.flatMap(({ file }) => {
      const text = this.#maskedText(file);
      return text === null ? [] : [{ path: realPath(file.origin), base64: base64Of(text) }];
    });
  }

  /** For the bridge of a session that sees them. */
  async credentials(): Promise<readonly BrokeredCredential[]> {
    const all = await Promise.all(
      this.#files.map(async ({ file, rule }) => {
        const names = await this.#names(file);
        return await Promise.all(
          names.map(async (name): Promise<BrokeredCredential[]> => {
            const value = await file.read(name);
            if (value === null) return [];
            return [{ name, value, placeholder: makePlaceholder(this.#key, name, value), ...rule }];
          }),
        );
      }),
    );
    return all.flat(2);
  }

  async #names(file: CredentialFile): Promise<readonly string[]> {
    if (file.mark() === 'ENOENT') return [];
    try {
      return await file.names();
    } catch {
      // The store says so.
      return [];
    }
  }

  #maskedText(file: CredentialFile): string | null {
    try {
      return file.masked((name, value) => makePlaceholder(this.#key, name, value));
    } catch (error) {
      if (!isTrlError(error)) throw error;
      this.#log(error.message);
      return '';
    }
  }
}

const base64Of = (text: string): string => Buffer.from(text).toString('base64');

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
