/** Which settings of git run nothing and contact nobody, whatever else is set. Pure. */
import type { GitConfigSetting } from './git-config.ts';

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
/** What only reads, and what asks nothing of a person who types it. */
const aliased = new RegExp(
  String.raw`^(?:(?:status|log|diff|show|branch|shortlog|describe)` +
    String.raw`(?: (?:-[abdnpstuvw]+|-\d+|--(?:all|cached|decorate|graph|name-only|name-status|` +
    String.raw`oneline|short|staged|stat|abbrev-commit|branch)|HEAD))*|` +
    String.raw`add|checkout|commit|switch)$`,
);

/** Whether git runs nothing by a setting, and contacts nobody else than without it. */
export function isHarmlessSetting({ name, subsection, value }: GitConfigSetting): boolean {
  const section = name.split('.')[0] ?? '';
  if (sections.has(section) || anyValue.has(name)) return true;
  if (section === 'alias') return subsection === null && aliased.test(value);
  return byValue.get(name)?.test(value) ?? false;
}
