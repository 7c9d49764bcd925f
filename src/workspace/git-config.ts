/**
 * Reads git's configuration files as git does, and knows which settings run nothing. Pure.
 *
 *   [section "subsection"]   # `[section.subsection]` too, then in lower case
 *     key = value            ; quotes, \" \\ \n \t \b, a backslash at the end of a line
 *   [section] key            keys and sections in any case; a key alone is `true`
 *
 * What git would refuse is refused here, and some of what it takes (control characters).
 */
import path from 'node:path';

export interface GitConfigSetting {
  /** `section.key` in lower case, without the subsection. */
  readonly name: string;
  readonly subsection: string | null;
  /** Without quotes and escapes; `true` for a key alone. */
  readonly value: string;
}

const blank = /[ \t\n]+|[#;][^\n]*/y;
const heading = /\[([a-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]/iy;
const escape = String.raw`\\["\\ntb\n]`;
const setting = new RegExp(
  String.raw`([a-z][a-z0-9-]*)[ \t]*` +
    String.raw`(?:=((?:"(?:[^"\\\n]|${escape})*"|${escape}|[^"\\\n#;])*)(?:[#;][^\n]*)?)?(?=\n|$)`,
  'iy',
);
const unreadable = /[^\P{Cc}\t\n]/u;
const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['b', '\b'],
  ['\n', ''],
]);

/** A heading or a setting, and where it is written. */
export interface GitConfigPart {
  /** `null`: a heading. */
  readonly setting: GitConfigSetting | null;
  readonly section: string;
  readonly subsection: string | null;
  readonly start: number;
  readonly end: number;
}

/** The settings of a file in their order; `null` where it does not parse. */
export function parseGitConfig(text: string): GitConfigSetting[] | null {
  const parts = parseGitConfigParts(text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n'));
  return parts?.flatMap(({ setting: one }) => one ?? []) ?? null;
}

/** @param input without a mark of its encoding, lines ended by `\n` alone */
export function parseGitConfigParts(input: string): GitConfigPart[] | null {
  if (unreadable.test(input)) return null;
  const found: GitConfigPart[] = [];
  let under: { name: string; subsection: string | null } | null = null;
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(input);
    at += match?.[0].length ?? 0;
    return match;
  };
  while (at < input.length) {
    if (take(blank) !== null) continue;
    const start = at;
    const opened = take(heading);
    if (opened !== null) {
      under = sectionOf(opened[1] ?? '', opened[2]);
      const { name: section, subsection } = under;
      found.push({ setting: null, section, subsection, start, end: at });
      continue;
    }
    const match = take(setting);
    if (match === null || under === null) return null;
    const { name: section, subsection } = under;
    const name = `${section}.${(match[1] ?? '').toLowerCase()}`;
    const value = match[2] === undefined ? 'true' : unescape(match[2]).trim();
    found.push({ setting: { name, subsection, value }, section, subsection, start, end: at });
  }
  return found;
}

function sectionOf(
  written: string,
  quoted: string | undefined,
): { name: string; subsection: string | null } {
  const [name = '', ...dotted] = written.toLowerCase().split('.');
  const rest = quoted === undefined ? dotted : [...dotted, quoted.replaceAll(/\\(.)/g, '$1')];
  return { name, subsection: rest.length === 0 ? null : rest.join('.') };
}

function unescape(value: string): string {
  return value.replaceAll(/\\([^])|"/g, (_, escaped: string | undefined) =>
    escaped === undefined ? '' : (escapes.get(escaped) ?? escaped),
  );
}

/** What `git init`, `clone`, `remote add`, `branch` and `submodule` write, but for the harmless. */
const plain: ReadonlySet<string> = new Set(
  [
    'core.repositoryformatversion core.bare',
    'extensions.objectformat extensions.compatobjectformat extensions.refstorage',
    'extensions.worktreeconfig extensions.relativeworktrees extensions.partialclone',
  ].flatMap((line) => line.split(' ')),
);
const plainOfNamed: ReadonlySet<string> = new Set(
  [
    'remote.url remote.pushurl remote.promisor remote.partialclonefilter branch.remote',
    'branch.pushremote submodule.url',
  ].flatMap((line) => line.split(' ')),
);
const addresses = new Set(
  'remote.url remote.pushurl branch.remote branch.pushremote submodule.url'.split(' '),
);
/** `ext::command`, `ext://command` and their like: git runs the helper that is named. */
const helperAddress = new RegExp(
  String.raw`^(?:-|[^/:[\]]*::|(?!(?:https?|ssh|git|file|ftps?|git\+ssh|ssh\+git)://)` +
    String.raw`[a-z\d][a-z\d+.-]*://)`,
  'i',
);

/**
 * Whether no setting of this configuration runs anything, now or later.
 *
 * @param worktree the only directory that `core.worktree` may name, or `null`.
 */
export function isHarmlessConfig(
  text: string,
  directory: string,
  worktree: string | null = null,
): boolean {
  const settings = parseGitConfig(text);
  return (
    settings?.every(({ name, subsection, value }) => {
      if (name === 'core.worktree' && subsection === null) {
        return path.resolve(directory, value) === worktree;
      }
      if (addresses.has(name) && helperAddress.test(value)) return false;
      const known = subsection === null ? plain : plainOfNamed;
      return known.has(name) || isHarmlessSetting({ name, subsection, value });
    }) ?? false
  );
}

// Settings of git that run nothing and contact no other host, whatever else is set. Pure.

const anyValue: ReadonlySet<string> = new Set(
  [
    'user.name user.email user.signingkey user.useconfigonly init.defaultbranch',
    'core.abbrev core.autocrlf core.commentchar core.commitgraph core.compression core.eol',
    'core.excludesfile core.filemode core.hidedotfiles core.ignorecase core.logallrefupdates',
    'core.longpaths core.precomposeunicode core.preloadindex core.quotepath core.safecrlf',
    'core.sparsecheckout core.sparsecheckoutcone core.symlinks core.untrackedcache',
    'core.whitespace index.sparse index.threads index.version feature.manyfiles',
    'apply.whitespace blame.coloring blame.date blame.ignorerevsfile blame.showemail',
    'branch.autosetupmerge branch.autosetuprebase branch.description branch.merge branch.rebase',
    'branch.sort branch.gh-merge-base branch.vscode-merge-base branch.github-pr-owner-number',
    'commit.cleanup commit.gpgsign commit.status commit.template commit.verbose tag.gpgsign',
    'diff.algorithm diff.colormoved diff.colormovedws diff.context diff.indentheuristic',
    'diff.interhunkcontext diff.mnemonicprefix diff.noprefix diff.relative diff.renamelimit',
    'diff.renames diff.submodule diff.wserrorhighlight',
    'fetch.parallel fetch.prune fetch.prunetags fetch.recursesubmodules fetch.writecommitgraph',
    'format.pretty format.signoff gc.auto gc.autodetach gc.writecommitgraph',
    'gitflow.bugfix gitflow.develop gitflow.feature gitflow.hotfix gitflow.master',
    'gitflow.release gitflow.support gitflow.versiontag',
    'grep.column grep.extendedregexp grep.fullname grep.linenumber grep.patterntype',
    'http.postbuffer i18n.commitencoding i18n.logoutputencoding interactive.singlekey',
    'lfs.locksverify lfs.repositoryformatversion',
    'log.abbrevcommit log.date log.decorate log.follow maintenance.auto',
    'merge.conflictstyle merge.directoryrenames merge.ff merge.log merge.renamelimit',
    'merge.renames merge.stat notes.displayref notes.rewriteref',
    'pack.threads pack.windowmemory protocol.version pull.ff pull.rebase push.autosetupremote',
    'push.default push.followtags rebase.autosquash rebase.autostash rebase.stat',
    'rebase.updaterefs rerere.autoupdate rerere.enabled',
    'remote.fetch remote.prune remote.skipdefaultupdate remote.skipfetchall remote.tagopt',
    'stash.showincludeuntracked stash.showpatch stash.showstat status.branch status.renames',
    'status.short status.showstash status.showuntrackedfiles status.submodulesummary',
    'submodule.active submodule.branch submodule.fetchrecursesubmodules submodule.ignore',
    'submodule.recurse submodule.shallow tag.sort transfer.fsckobjects versionsort.suffix',
  ].flatMap((line) => line.split(' ')),
);
/** Nothing in them but how git words and colours what it says. */
const sections: ReadonlySet<string> = new Set(['advice', 'color', 'column']);
const byValue: ReadonlyMap<string, RegExp> = new Map([
  ['branch.mergeoptions', /^(?:--(?:no-)?(?:ff|squash|commit|edit|log|stat)(?: +|$))+$/],
  ['core.fsmonitor', /^(?:false|no|off|0)$/i],
  ['core.repositoryformatversion', /^[01]$/],
  ['extensions.worktreeconfig', /^true$/],
  ['remote.gh-resolved', /^base$/],
  ['remote.partialclonefilter', /^[\w:=+.,%-]+$/],
  ['submodule.update', /^(?:checkout|rebase|merge|none)$/],
]);
/** Commands that only read, and that ask the person who types them nothing. */
const aliased = new RegExp(
  String.raw`^(?:(?:status|log|diff|show|branch|shortlog|describe)` +
    String.raw`(?: (?:-[abdnpstuvw]+|-\d+|--(?:all|cached|decorate|graph|name-only|name-status|` +
    String.raw`oneline|short|staged|stat|abbrev-commit|branch)|HEAD))*|` +
    String.raw`add|checkout|commit|switch)$`,
);

/** Whether git runs nothing because of a setting, and contacts no further host. */
export function isHarmlessSetting({ name, subsection, value }: GitConfigSetting): boolean {
  const section = name.split('.')[0] ?? '';
  if (sections.has(section) || anyValue.has(name)) return true;
  if (section === 'alias') return subsection === null && aliased.test(value);
  return byValue.get(name)?.test(value) ?? false;
}
