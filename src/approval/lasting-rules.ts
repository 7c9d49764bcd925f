/**
 * Lasting answers: rules that a person made by an answer for the project, in a file of the user's.
 * It is read for each question, so that a rule that is removed holds no more at once.
 *
 *   {"v":1,"rules":[{"id":"r-…","created_at":"…","by":"…","of":{…}}]}
 */
import { randomBytes } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { canonicalJson } from '../canonical.ts';
import { TrlError } from '../errors.ts';
import { withFileLock } from '../file-lock.ts';
import { readPrivateFile, writePrivateFile } from '../private-file.ts';
import { parseHostRule } from '../network/host-rules.ts';
import { quoteArgv, describeReveal } from '../quote.ts';

/**
 * What a rule is about, whole: it holds for a question whose own one is equal to it, and for no
 * other.
 */
export type RuleSubject = NetworkRule | RevealRule | HostsRule;

/** Hosts that any command of the requester in the project may connect to. */
export interface HostsRule {
  /** Host rules, in order. */
  readonly hosts: readonly string[];
  /** The real directory, so that another one in its place is another project. */
  readonly workspace: ProjectDirectory;
  /** The actor that asks. */
  readonly requester: string;
}

/** Values that look like secrets and that the output of any command in the project shows. */
export interface RevealRule {
  /** As `Plan.reveal` names them, in order. */
  readonly reveal: readonly string[];
  /** The real directory, so that another one in its place is another project. */
  readonly workspace: ProjectDirectory;
  /** The actor that asks. */
  readonly requester: string;
}

export interface ProjectDirectory {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/** A command of a known shape that reaches the network. */
export interface NetworkRule {
  /** Program, subcommand, flags in order, operands. */
  readonly words: readonly string[];
  /** What starts for the program's name, absolute. */
  readonly program: string;
  /** What is asked. `hosts`: a later version's. */
  readonly network: true | { readonly hosts: readonly string[] };
  /** The real directory, so that another one in its place is another project. */
  readonly workspace: ProjectDirectory;
  /** The actor that asks. */
  readonly requester: string;
  /** What of the project's own configuration is bound, as text. */
  readonly project: string;
}

export interface LastingRule {
  readonly id: string;
  readonly created_at: string;
  /** Who answered. */
  readonly by: string;
  readonly of: RuleSubject;
}

/** A rule as a person reads it, before and after the answer. */
export function ruleText(of: RuleSubject): string {
  const { workspace, requester } = of;
  if ('reveal' in of) {
    const what = describeReveal(of.reveal);
    return `output shows ${what}, without a question, for ${requester} in ${workspace.path}`;
  }
  if ('hosts' in of) {
    const what = `commands connect to ${of.hosts.join(', ')}`;
    return `${what}, without a question, for ${requester} in ${workspace.path}`;
  }
  const { words, program, network } = of;
  const where = network === true ? 'any host' : network.hosts.join(', ');
  const what = `${quoteArgv(words)} (${program}), and what it starts, reaches ${where}`;
  return `${what}, without a question, for ${requester} in ${workspace.path}`;
}

export const lastingRulesFile = 'answers.json';
const bytesMax = 4 * 1024 * 1024;
const rulesMax = 1_000;

/** @param file in the user's configuration directory, which no sandbox shows */
export class LastingRules {
  readonly #file: string;
  /** The rules of the last look, and which file that was. */
  #last: { readonly key: string; readonly rules: readonly LastingRule[] } = { key: '', rules: [] };

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Oldest first.
   *
   * @throws TrlError `AUTH_FAILED` for a file that others could have written, or that is none
   */
  list(): readonly LastingRule[] {
    const text = readPrivateFile(this.#file, bytesMax);
    return text === null ? [] : rulesIn(text, this.#file);
  }

  /** The rule by which a question is answered already; none where the file cannot be used. */
  find(of: RuleSubject): LastingRule | null {
    const wanted = canonicalJson(of);
    try {
      return this.list().find((one) => canonicalJson(one.of) === wanted) ?? null;
    } catch {
      // Then a person is asked.
      return null;
    }
  }

  /** Values that commands show in a project; none where the file cannot be used. */
  revealed(workspace: ProjectDirectory, requester: string): ReadonlySet<string> {
    const found = this.#of(workspace, requester).flatMap((of) => ('reveal' in of ? of.reveal : []));
    return new Set(found);
  }

  /** Host rules that commands in a project may connect to; none where the file cannot be used. */
  hosts(workspace: ProjectDirectory, requester: string): readonly string[] {
    return this.#of(workspace, requester).flatMap((of) => ('hosts' in of ? of.hosts : []));
  }

  #of(workspace: ProjectDirectory, requester: string): readonly RuleSubject[] {
    const isSame = (one: ProjectDirectory): boolean =>
      one.path === workspace.path && one.dev === workspace.dev && one.ino === workspace.ino;
    return this.#now().flatMap(({ of }) =>
      of.requester === requester && isSame(of.workspace) ? [of] : [],
    );
  }

  /** Each command looks: the file is read again only when it is another one. */
  #now(): readonly LastingRule[] {
    try {
      const stat = lstatSync(this.#file, { bigint: true, throwIfNoEntry: false });
      if (stat === undefined) return [];
      const key = `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
      if (this.#last.key !== key) this.#last = { key, rules: this.list() };
      return this.#last.rules;
    } catch {
      return [];
    }
  }

  /** @throws TrlError `QUOTA_EXCEEDED`, and as {@link list} */
  add(of: RuleSubject, by: string): LastingRule {
    return withFileLock(this.#file, () => {
      const known = this.list();
      const wanted = canonicalJson(of);
      const equal = known.find((one) => canonicalJson(one.of) === wanted);
      if (equal !== undefined) return equal;
      if (known.length >= rulesMax) {
        const help = 'remove some: trl policy rules remove ID';
        throw new TrlError('QUOTA_EXCEEDED', `Cannot add a rule: there are ${rulesMax}; ${help}`);
      }
      const id = `r-${randomBytes(8).toString('hex')}`;
      const made = { id, created_at: new Date().toISOString(), by, of };
      this.#write([...known, made]);
      return made;
    });
  }

  /** @throws TrlError `INVALID_PARAMS` for an id that no rule, or more than one, begins with */
  remove(word: string): LastingRule {
    return withFileLock(this.#file, () => {
      const known = this.list();
      const found = known.filter(({ id }) => word.length > 2 && id.startsWith(word));
      const [rule] = found;
      if (rule === undefined || found.length > 1) {
        const why = rule === undefined ? 'there is none' : 'several begin so';
        throw new TrlError('INVALID_PARAMS', `Cannot remove the rule "${word}": ${why}`);
      }
      this.#write(known.filter((one) => one !== rule));
      return rule;
    });
  }

  #write(rules: readonly LastingRule[]): void {
    writePrivateFile(this.#file, `${JSON.stringify({ v: 1, rules }, null, 2)}\n`);
  }
}

/** @throws TrlError `AUTH_FAILED` for what is no such file: nothing of it holds */
function rulesIn(text: string, file: string): readonly LastingRule[] {
  const wrong = (): TrlError => new TrlError('AUTH_FAILED', `Cannot use "${file}": no such rules`);
  let found: { readonly v?: unknown; readonly rules?: unknown };
  try {
    found = Object(JSON.parse(text));
  } catch {
    throw wrong();
  }
  const { v, rules } = found;
  if (v !== 1 || !Array.isArray(rules) || !rules.every(isRule)) throw wrong();
  return rules;
}

function isRule(value: unknown): value is LastingRule {
  const { id, created_at: at, by, of } = fieldsOf(value);
  const { words, program, workspace, requester, project, reveal, hosts } = fieldsOf(of);
  const common = [id, at, by, requester, fieldsOf(workspace)['path']];
  if (hosts !== undefined) return reveal === undefined && isHosts(hosts) && isTexts(common);
  if (reveal !== undefined) return isTexts(reveal) && isTexts(common);
  const texts = [...common, program, project];
  const isWords = isTexts(words);
  // What a later version says of hosts is no rule of this one.
  const isWide = fieldsOf(of)['network'] === true;
  return isWords && isWide && isTexts(texts);
}

const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');

const isHosts = (value: unknown): boolean =>
  Array.isArray(value) &&
  value.every((one) => typeof one === 'string' && parseHostRule(one)?.text === one);

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
