/** Which edits of a repository's own configuration are a day's work with git. Pure. */
import {
  type GitConfigPart,
  type GitConfigSetting,
  isHarmlessConfig,
  isHarmlessSetting,
  parseGitConfig,
  parseGitConfigParts,
} from '../git-config.ts';

/** What `git branch`, `git remote` and `git submodule` add and remove, each under its own name. */
const named: ReadonlySet<string> = new Set(['branch', 'remote', 'submodule']);
/** The remote that git uses by default. */
const toRemote: ReadonlySet<string> = new Set([
  'branch.remote',
  'branch.pushremote',
  'remote.pushdefault',
  'checkout.defaultremote',
]);
const addresses: ReadonlySet<string> = new Set(['remote.url', 'remote.pushurl', 'submodule.url']);
/** A remote's name, and no address. */
const remoteName = /^(?:\.|[\w][\w.-]*)$/;

/**
 * Whether an edit is a day's work by key and value: it sets what runs nothing and contacts nobody
 * else, adds or removes branches, remotes or submodules as a whole, and leaves everything else the
 * same in the same order. What an added remote names must run nothing, and nothing may lead to a
 * new host unless a person names the remote.
 *
 * @param free keys whose values are free to come, change and go
 */
export function isHarmlessConfigEdit(
  before: string,
  after: string,
  directory: string,
  free: ReadonlySet<string> = new Set(),
): boolean {
  const [was, is] = [before, after].map((text) => {
    const settings = parseGitConfig(decode(text));
    return settings?.filter(({ name, subsection }) => subsection !== null || !free.has(name));
  });
  return was !== undefined && is !== undefined && new GitConfigEdit(was, is, directory).isHarmless;
}

/** What `git submodule` writes to `.gitmodules`; of `submodule.update` what runs nothing. */
const ofModules: ReadonlySet<string> = new Set(
  'path url branch ignore shallow fetchrecursesubmodules update'
    .split(' ')
    .map((key) => `submodule.${key}`),
);

/** The same of a `.gitmodules`: submodules come and go, and none leads to another repository. */
export function isHarmlessModulesEdit(before: string, after: string): boolean {
  const was = parseGitConfig(decode(before));
  const is = parseGitConfig(decode(after));
  if (was === null || is === null) return false;
  const old = new Side(was);
  return is.every((setting) => {
    const { name, value } = setting;
    if (old.has(setting)) return true;
    if (!isNamed(setting) || !ofModules.has(name) || value.includes('\n')) return false;
    if (name === 'submodule.path') return !value.split('/').includes('..');
    if (name !== 'submodule.url') return name !== 'submodule.update' || isHarmlessSetting(setting);
    return old.hasSection(setting)
      ? old.leadsThere(setting)
      : isHarmlessConfig(written(setting), '/');
  });
}

/** An edit from the settings `was` to the settings `is`. */
class GitConfigEdit {
  readonly #was: Side;
  readonly #is: Side;
  readonly #directory: string;

  constructor(
    was: readonly GitConfigSetting[],
    is: readonly GitConfigSetting[],
    directory: string,
  ) {
    this.#was = new Side(was);
    this.#is = new Side(is);
    this.#directory = directory;
  }

  get isHarmless(): boolean {
    if (!this.#is.settings.every((setting) => this.isAllowed(setting))) return false;
    const fixed = (one: Side, other: Side): string =>
      JSON.stringify(one.settings.filter((setting) => !this.#isMovable(setting, other)));
    return fixed(this.#was, this.#is) === fixed(this.#is, this.#was);
  }

  /** Whether it was there, or is free to come, wherever in the file. */
  isAllowed(setting: GitConfigSetting): boolean {
    const isOld = this.#was.has(setting);
    const remote = remoteOf(setting);
    if (remote !== null) {
      if (!remoteName.test(remote)) return isOld;
      return this.#mayLead(setting, remote) || (isOld && this.#is.urlsOf(remote).length === 0);
    }
    return (
      isOld || isHarmlessSetting(setting) || this.#was.leadsThere(setting) || this.#isNew(setting)
    );
  }

  /** Of a branch, remote or submodule that is not there yet. */
  #isNew(setting: GitConfigSetting): boolean {
    if (!isNamed(setting) || this.#was.hasSection(setting)) return false;
    const { subsection, value } = setting;
    // Git goes to it by itself.
    const isDefault = subsection === 'origin' && isAddress(setting) && remoteHostOf(value) !== null;
    if (isDefault && this.#was.hosts.size > 0 && !this.#isMoved(setting, this.#was, this.#is)) {
      return false;
    }
    return isHarmlessConfig(written(setting), this.#directory);
  }

  /** Whether git contacts no new host by default. */
  #mayLead(setting: GitConfigSetting, remote: string): boolean {
    if (remote === '.') return true;
    const urls = this.#is.urlsOf(remote);
    const known = this.#was.hostsFor(setting);
    return urls.length > 0 && [...hostsOf(urls)].every((host) => known === null || known.has(host));
  }

  /** Whether it need not be on the other side, at the same place among the rest. */
  #isMovable(setting: GitConfigSetting, other: Side): boolean {
    if (isHarmlessSetting(setting) || remoteOf(setting) !== null || other.leadsThere(setting)) {
      return true;
    }
    if (other === this.#was) return !other.has(setting);
    const isGone = isNamed(setting) && !other.hasSection(setting);
    if (!isGone || !isAddress(setting) || remoteHostOf(setting.value) === null) return isGone;
    return setting.name === 'submodule.url' || this.#isMoved(setting, this.#is, this.#was);
  }

  /** Whether the address is in a section of `here` that is not `there`, nor the other way round. */
  #isMoved({ value }: GitConfigSetting, here: Side, there: Side): boolean {
    return here.settings.some(
      (one) => isAddress(one) && one.value === value && !there.hasSection(one),
    );
  }
}

/** All settings of a file. */
class Side {
  readonly settings: readonly GitConfigSetting[];
  /** Of its remotes. */
  readonly hosts: ReadonlySet<string>;
  readonly #all: ReadonlySet<string>;
  readonly #sections: ReadonlySet<string>;

  constructor(settings: readonly GitConfigSetting[]) {
    this.settings = settings;
    const urls = settings.filter(({ name }) => isUrl(name)).map(({ value }) => value);
    this.hosts = hostsOf(urls);
    this.#all = new Set(settings.map((setting) => JSON.stringify(setting)));
    this.#sections = new Set(settings.map(sectionOf));
  }

  has(setting: GitConfigSetting): boolean {
    return this.#all.has(JSON.stringify(setting));
  }

  hasSection(setting: GitConfigSetting): boolean {
    return this.#sections.has(sectionOf(setting));
  }

  urlsOf(remote: string): string[] {
    const isOf = ({ name, subsection }: GitConfigSetting): boolean =>
      isUrl(name) && subsection === remote;
    return this.settings.filter(isOf).map(({ value }) => value);
  }

  /** Where git goes instead of where a setting leads; `null`: nowhere yet. */
  hostsFor({ name, subsection }: GitConfigSetting): ReadonlySet<string> | null {
    const remote =
      this.#valueOf(name, subsection) ??
      (name.startsWith('branch.') ? this.#valueOf('branch.remote', subsection) : undefined) ??
      this.#defaultRemote();
    if (remote !== undefined && remoteName.test(remote)) return hostsOf(this.urlsOf(remote));
    return this.hosts.size === 0 ? null : this.hosts;
  }

  #valueOf(name: string, subsection: string | null): string | undefined {
    if (name === 'remote.promisor') return undefined;
    const isOf = (one: GitConfigSetting): boolean =>
      one.name === name && one.subsection === subsection;
    return this.settings.findLast(isOf)?.value;
  }

  #defaultRemote(): string | undefined {
    const isRemote = ({ name, subsection }: GitConfigSetting): boolean =>
      isUrl(name) && subsection !== null;
    const names = new Set(this.settings.filter(isRemote).map(({ subsection }) => subsection));
    if (names.has('origin')) return 'origin';
    return names.size === 1 ? ([...names][0] ?? undefined) : undefined;
  }

  /** Whether its section has an address of the same repository. */
  leadsThere(setting: GitConfigSetting): boolean {
    if (!isAddress(setting)) return false;
    const section = sectionOf(setting);
    const ours = this.settings.filter((one) => isAddress(one) && sectionOf(one) === section);
    return ours.some(({ value }) => isSameRepository(value, setting.value));
  }
}

/** The remote that git goes to by a setting; `null`: it is no such setting. */
function remoteOf({ name, subsection, value }: GitConfigSetting): string | null {
  if (name === 'remote.promisor') return subsection ?? '';
  return toRemote.has(name) ? value : null;
}

function hostsOf(urls: readonly string[]): Set<string> {
  return new Set(urls.flatMap((url) => remoteHostOf(url) ?? []));
}

function isUrl(name: string): boolean {
  return name === 'remote.url' || name === 'remote.pushurl';
}

function isAddress({ name }: GitConfigSetting): boolean {
  return addresses.has(name);
}

function isNamed({ name, subsection }: GitConfigSetting): boolean {
  return named.has(name.split('.')[0] ?? '') && subsection !== null && subsection !== '';
}

function sectionOf({ name, subsection }: GitConfigSetting): string {
  return JSON.stringify([name.split('.')[0], subsection]);
}

function written({ name, subsection, value }: GitConfigSetting): string {
  const [section = '', key = ''] = name.split('.');
  const quoted = (text: string): string =>
    text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `[${section} "${quoted(subsection ?? '')}"]\n${key} = "${quoted(value)}"`;
}

function decode(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

// The repository that a remote's address leads to: two addresses of one repository contact no other
// host. Pure.

interface Address {
  readonly host: string;
  readonly path: string;
  /** Traffic is encrypted, and the host is authenticated. */
  readonly isSafe: boolean;
}

const urlPattern = /^([a-z][a-z\d+]*):\/\/(?:[^@/]*@)?(\[[\da-f:]+\]|[\w.-]+)(?::(\d*))?(\/.*)$/i;
/** `git@host:path`, as ssh takes it. */
const scpPattern = /^(?:[\w.+-]+@)?([\w][\w.-]*):(?!:)(.+)$/;
const safePorts: ReadonlyMap<string, string> = new Map([
  ['https', '443'],
  ['ssh', '22'],
  ['git+ssh', '22'],
  ['ssh+git', '22'],
]);

/** `null`: a path of this machine, or nothing that is known. */
function addressOf(url: string): Address | null {
  const full = urlPattern.exec(url);
  if (full !== null) {
    const [, scheme = '', host = '', port = '', path = ''] = full;
    if (scheme.toLowerCase() === 'file' || host.startsWith('-')) return null;
    const usual = safePorts.get(scheme.toLowerCase());
    const isUsual = usual !== undefined && (port === '' || port === usual);
    const at = isUsual ? host : `${scheme}://${host}:${port}`;
    return { host: at.toLowerCase(), path: bare(path), isSafe: usual !== undefined };
  }
  const found = url.includes('://') ? null : scpPattern.exec(url);
  if (found === null) return null;
  return { host: (found[1] ?? '').toLowerCase(), path: bare(found[2] ?? ''), isSafe: true };
}

function bare(path: string): string {
  return path
    .replace(/^\/+/, '')
    .replace(/\/+$/, '')
    .replace(/\.git$/, '');
}

/** The host that an address contacts; `null`: none. */
function remoteHostOf(url: string): string | null {
  return addressOf(url)?.host ?? null;
}

/** Whether one address leads to the repository of another, and is as safe on the way. */
export function isSameRepository(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [addressOf(one), addressOf(other)];
  return a !== null && b !== null && a.isSafe && b.isSafe && a.host === b.host && a.path === b.path;
}

// Extracts the harmless part of a held edit of git's configuration. Pure.

/**
 * The earlier configuration with the harmless part of an edit: settings that need approval are left
 * out, or keep their earlier value. `null`: no part is harmless, or the parts cannot be separated.
 *
 * @param before bytes, like the result
 */
export function harmlessPartOf(before: string, after: string, directory: string): string | null {
  const [old, text] = [textOf(before), textOf(after)];
  const was = old === null ? null : parseGitConfig(old);
  const parts = text === null ? null : parseGitConfigParts(text);
  if (was === null || text === null || parts === null) return null;
  const is = parts.flatMap(({ setting }) => setting ?? []);
  const edit = new GitConfigEdit(was, is, directory);
  const lost = was.filter((one) => !is.some((other) => isEqual(one, other)));
  let merged = '';
  let at = 0;
  for (const [index, part] of parts.entries()) {
    const { setting } = part;
    const isKept = setting === null ? !isEmptied(index) : edit.isAllowed(setting);
    if (isKept) continue;
    const from = setting && lost.findIndex((one) => isSameKey(one, setting));
    const value = from === null ? undefined : lost.splice(from, from < 0 ? 0 : 1)[0];
    const { start, end } = value === undefined ? wholeLine(text, part) : part;
    merged += text.slice(at, start) + (value === undefined ? '' : lineOf(value));
    at = end;
  }
  merged += text.slice(at);
  const answer = Buffer.from(merged).toString('latin1');
  const isOther = JSON.stringify(parseGitConfig(merged)) !== JSON.stringify(was);
  return isOther && isHarmlessConfigEdit(before, answer, directory) ? answer : null;

  /** A new section of which nothing is left. */
  function isEmptied(index: number): boolean {
    const { section, subsection } = parts?.[index] ?? { section: '', subsection: null };
    const isOf = (one: GitConfigSetting): boolean =>
      one.name.startsWith(`${section}.`) && one.subsection === subsection;
    const own = is.filter(isOf);
    return own.length > 0 && !was?.some(isOf) && !own.some((one) => edit.isAllowed(one));
  }
}

/** `null` for what is no UTF-8 with plain ends of lines. */
function textOf(bytes: string): string | null {
  const text = Buffer.from(bytes, 'latin1').toString();
  const isExact = Buffer.from(text).toString('latin1') === bytes;
  return isExact && !text.includes('\r') && !text.startsWith('\uFEFF') ? text : null;
}

function isEqual(one: GitConfigSetting, other: GitConfigSetting): boolean {
  return isSameKey(one, other) && one.value === other.value;
}

function isSameKey(one: GitConfigSetting, other: GitConfigSetting): boolean {
  return one.name === other.name && one.subsection === other.subsection;
}

/** Extends a part to its whole line, if nothing else is on the line. */
function wholeLine(text: string, { start, end }: GitConfigPart): { start: number; end: number } {
  const before = text.lastIndexOf('\n', start - 1) + 1;
  const isAlone = text.slice(before, start).trim() === '' && text[end] === '\n';
  return isAlone ? { start: before, end: end + 1 } : { start, end };
}

function lineOf({ name, value }: GitConfigSetting): string {
  const key = name.slice(name.indexOf('.') + 1);
  const quoted = value.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `${key} = "${quoted.replaceAll('\t', String.raw`\t`)}"`;
}
