/** Which edits of a repository's own configuration are a day's work with git. Pure. */
import { isPlainConfig, parseGitConfig, type Setting } from '../git-config.ts';

/** What `git branch`, `git remote` and `git submodule` add and remove, each under its own name. */
const named: ReadonlySet<string> = new Set(['branch', 'remote', 'submodule']);

/** Whatever their value, git runs nothing by them and contacts nobody else. */
const harmless: ReadonlySet<string> = new Set(
  [
    'user.name user.email init.defaultbranch pull.rebase pull.ff push.default',
    'push.autosetupremote push.followtags fetch.prune merge.ff merge.conflictstyle rerere.enabled',
    'rebase.autosquash rebase.autostash rebase.updaterefs diff.algorithm diff.renames log.date',
    'color.ui core.autocrlf core.eol core.filemode core.ignorecase core.quotepath core.abbrev',
    'core.safecrlf core.whitespace core.sparsecheckout core.sparsecheckoutcone',
    'branch.merge branch.rebase branch.description remote.fetch remote.prune remote.tagopt',
    'submodule.active commit.gpgsign commit.template commit.verbose blame.ignorerevsfile',
    'core.longpaths core.hidedotfiles core.untrackedcache core.preloadindex core.commitgraph',
    'core.compression core.logallrefupdates diff.colormoved diff.noprefix diff.mnemonicprefix',
    'merge.renames merge.log index.version index.threads feature.manyfiles gc.auto gc.autodetach',
    'status.showuntrackedfiles status.short status.branch rerere.autoupdate branch.sort tag.sort',
    'fetch.parallel fetch.writecommitgraph fetch.prunetags http.postbuffer pack.windowmemory',
    'pack.threads transfer.fsckobjects log.follow log.abbrevcommit log.decorate format.pretty',
  ].flatMap((line) => line.split(' ')),
);
/** Nothing in them but how git words and colours what it says. */
const harmlessSections: ReadonlySet<string> = new Set(['advice', 'color', 'column']);
const toRemote: ReadonlySet<string> = new Set(['branch.remote', 'branch.pushremote']);
/** A remote's name, and no address. */
const remoteName = /^(?:\.|[\w][\w.-]*)$/;

/**
 * Whether an edit is a day's work by key and value: it sets what runs nothing and contacts nobody
 * else, adds or removes branches, remotes or submodules as a whole, and leaves everything else the
 * same in the same order. What an added remote names must run nothing.
 */
export function isPlainEdit(before: string, after: string, directory: string): boolean {
  const was = parseGitConfig(decode(before));
  const is = parseGitConfig(decode(after));
  if (was === null || is === null) return false;
  const sections = [was, is].map((settings) => new Set(settings.map(sectionOf)));
  const [old = new Set(), present = new Set()] = sections;
  const added = is.filter((setting) => isWhole(setting, old) && !isHarmless(setting));
  if (added.some(({ name }) => toRemote.has(name))) return false;
  if (!isPlainConfig(added.map(written).join('\n'), directory)) return false;
  const fixed = (settings: readonly Setting[], other: ReadonlySet<string>): string =>
    JSON.stringify(settings.filter((one) => !isHarmless(one) && !isWhole(one, other)));
  return fixed(was, present) === fixed(is, old);
}

/** Of a branch, remote or submodule that is not among the `others`. */
function isWhole(setting: Setting, others: ReadonlySet<string>): boolean {
  return named.has(kindOf(setting)) && hasName(setting) && !others.has(sectionOf(setting));
}

function isHarmless({ name, value }: Setting): boolean {
  if (harmlessSections.has(name.split('.')[0] ?? '')) return true;
  return harmless.has(name) || (toRemote.has(name) && remoteName.test(value));
}

function kindOf({ name }: Setting): string {
  return name.split('.')[0] ?? '';
}

function hasName({ subsection }: Setting): boolean {
  return subsection !== null && subsection !== '';
}

function sectionOf(setting: Setting): string {
  return JSON.stringify([kindOf(setting), setting.subsection]);
}

function written({ name, subsection, value }: Setting): string {
  const [section = '', key = ''] = name.split('.');
  const quoted = (text: string): string =>
    text.replaceAll(/["\\]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
  return `[${section} "${quoted(subsection ?? '')}"]\n${key} = "${quoted(value)}"`;
}

function decode(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
