/**
 * Secrets that a command uses and never has. In its environment is a placeholder; the bridge of its
 * session puts the value into requests to the hosts of the rule.
 */
import { createHmac } from 'node:crypto';
import { TrlError } from '../errors.ts';
import type { BrokerRule } from '../network-access.ts';
import { brokerPresets, usualHeaders } from './broker-presets.ts';

/**
 * How a secret of this name is used; `null`: nothing says at which hosts.
 *
 * @param setting what a person wrote for it; the rest is that of its preset
 */
export function brokerRuleOf(name: string, setting: Partial<BrokerRule> = {}): BrokerRule | null {
  const preset = brokerPresets.find(({ names }) => names.includes(name));
  const hosts = setting.hosts ?? preset?.hosts;
  if (hosts === undefined || hosts.length === 0) return null;
  const signs = setting.signs ?? preset?.signs;
  const headers = setting.headers ?? preset?.headers ?? (signs === undefined ? usualHeaders : []);
  return {
    hosts,
    // What signs is sent in no header.
    headers: headers.map((one) => one.toLowerCase()),
    query: setting.query ?? preset?.query ?? [],
    body: setting.body ?? preset?.body ?? [],
    ...(signs === undefined ? {} : { signs }),
    ...(setting.plaintext === true ? { plaintext: true as const } : {}),
  };
}

/** By which programs know of what kind a token is; everybody knows them. */
const kinds =
  'gh[a-z]_ github_pat_ npm_ glpat- sk-(?:ant-|proj-)? [sr]k_(?:live|test)_ xox[a-z]- hf_ pypi-';
const kindPattern = new RegExp(`^(?:${kinds.replaceAll(' ', '|')}|dckr_pat_)`);
const alphabets = ['0123456789', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz'];
/** With fewer letters and digits, ordinary text could have it. */
const symbolsMin = 8;

/**
 * The text that a command has in the place of a value: of the same length and shape, the same for
 * the same value, and of no use without the key.
 *
 * @throws TrlError `INVALID_PARAMS` for a value that is too short
 */
export function makePlaceholder(key: Uint8Array, name: string, value: string): string {
  const kind = kindPattern.exec(value)?.[0] ?? '';
  const random = stream(key, name, value);
  const rest = value.slice(kind.length);
  const symbols = rest.replaceAll(/[^A-Za-z0-9]/g, '').length;
  if (symbols < symbolsMin || /[\p{Cc}\P{ASCII}]/u.test(value)) {
    const why = `only one line of ASCII with ${symbolsMin} letters and digits or more can be`;
    throw new TrlError('INVALID_PARAMS', `Cannot broker the secret ${name}: ${why}`);
  }
  const replaced = rest.replaceAll(/[A-Za-z0-9]/g, (symbol) => {
    const alphabet = alphabets.find((one) => one.includes(symbol)) ?? '';
    return alphabet[random() % alphabet.length] ?? '';
  });
  return kind + replaced;
}

/** Bytes, one at each call. */
function stream(key: Uint8Array, name: string, value: string): () => number {
  let block = Buffer.alloc(0);
  let count = 0;
  let at = 0;
  return () => {
    if (at === block.length) {
      const input = ['placeholder', name, value, String(count)].join('\0');
      block = createHmac('sha256', key).update(input).digest();
      count += 1;
      at = 0;
    }
    at += 1;
    return block[at - 1] ?? 0;
  };
}
