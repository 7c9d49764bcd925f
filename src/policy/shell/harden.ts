/**
 * Recipes that keep an allowed command from running what the repository or environment configures.
 * What each is for is shown by test/policy-git-hostile.test.ts.
 */
import type { HardenedCommand } from '../analysis.ts';
import type { AllowRule } from '../commands/allow-rule.ts';
import type { AcceptedCommandLine } from './accept-command-line.ts';
import { secretGlob } from './secret.ts';

/** Settings that make git start programs, each disabled; the command line overrides all files. */
const settings: readonly string[] = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.sshCommand=false',
  'core.gitProxy=',
  'core.askPass=',
  'credential.helper=',
  'diff.external=',
  'diff.submodule=short',
  'diff.ignoreSubmodules=dirty',
  'submodule.recurse=false',
  'status.submoduleSummary=false',
  'log.showSignature=false',
  'log.diffMerges=separate',
  'gpg.program=false',
  'gpg.openpgp.program=false',
  'gpg.x509.program=false',
  'gpg.ssh.program=false',
  'protocol.allow=never',
  'protocol.ext.allow=never',
  'safe.bareRepository=explicit',
];

const dropped: readonly string[] = [
  'GIT_*',
  'npm_*',
  'NPM_*',
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_REPL_EXTERNAL_MODULE',
  'NODE_EXTRA_CA_CERTS',
  // Files that node would write, and modules that its OpenSSL would load.
  'NODE_V8_COVERAGE',
  'NODE_COMPILE_CACHE',
  'NODE_REDIRECT_WARNINGS',
  'OPENSSL_*',
  'SSLKEYLOGFILE',
  'PYTHON*',
  'RIPGREP_CONFIG_PATH',
  'LD_*',
  'DYLD_*',
  'BASH_ENV',
  'ENV',
  'PAGER',
  'LESSOPEN',
  'LESSCLOSE',
  'LESS',
  'EDITOR',
  'VISUAL',
  'SSH_ASKPASS',
  'GPG_*',
  'GNUPGHOME',
  'TZDIR',
  'GCONV_PATH',
  'LOCPATH',
];

const gitVariables: Readonly<Record<string, string>> = {
  // A command may have written the private home's.
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  GIT_NO_LAZY_FETCH: '1',
  // A list without any real transport: no configuration can add one.
  GIT_ALLOW_PROTOCOL: 'none',
  GIT_PAGER: 'cat',
  GIT_EDITOR: 'false',
  GIT_ASKPASS: 'false',
};

/** What a search through hidden files must never show. */
const hidden: readonly string[] = ['--iglob', `!${secretGlob}`];

/** A `.npmrc` of the project names a shell of its own; npm asks its registry for a newer npm. */
const npmVariables: Readonly<Record<string, string>> = {
  npm_config_script_shell: '/bin/sh',
  npm_config_update_notifier: 'false',
};
/** What only lists writes no log and no cache, wherever a `.npmrc` would have them. */
const quietly: Readonly<Record<string, string>> = {
  ...npmVariables,
  npm_config_logs_max: '0',
  npm_config_cache: '/dev/null',
};

/** `rest` are the words after those of the rule, as they were accepted. */
export function hardenCommand(
  rule: AllowRule,
  rest: readonly string[],
  accepted: AcceptedCommandLine,
): HardenedCommand {
  const [program = '', ...sub] = rule.words;
  const argv = [program, ...argvOf(rule, sub, rest, accepted)];
  return { argv, unset: dropped, set: variablesOf(rule) };
}

function variablesOf({ harden: recipe, packageScript }: AllowRule): HardenedCommand['set'] {
  switch (recipe) {
    case 'git':
    case 'git-show':
    case 'git-tree':
      return gitVariables;
    case 'npm':
      return packageScript === undefined ? quietly : npmVariables;
    case 'npx':
      return npmVariables;
    case 'version':
      return quietly;
    case 'plain':
    case 'rg':
      return {};
  }
}

function argvOf(
  { harden: recipe, packageScript }: AllowRule,
  sub: readonly string[],
  rest: readonly string[],
  { end }: AcceptedCommandLine,
): readonly string[] {
  const git = ['--no-pager', ...settings.flatMap((setting) => ['-c', setting])];
  switch (recipe) {
    case 'plain':
    case 'version':
      return [...sub, ...rest];
    case 'npm':
      // A `.npmrc` could name other packages, whose scripts nobody was shown.
      return [...sub, ...rest, ...(packageScript === undefined ? [] : ['--no-workspaces'])];
    case 'npx':
      return ['--no-install', ...sub, ...rest];
    case 'rg': {
      // The last glob that matches wins, and those without regard to case come after all others.
      const at = end === -1 ? rest.length : end;
      return ['--no-config', ...rest.slice(0, at), ...hidden, ...rest.slice(at)];
    }
    case 'git':
      return [...git, ...sub, ...rest];
    case 'git-show':
      return [...git, ...sub, '--no-ext-diff', '--no-textconv', ...rest];
    case 'git-tree': {
      const diffs = sub[0] === 'diff' ? ['--no-ext-diff', '--no-textconv'] : [];
      return [...git, ...sub, ...diffs, '--ignore-submodules=dirty', ...rest];
    }
  }
}

/**
 * The same run with these filter drivers turned off, as `git status` and `git diff` run them on
 * files whose times changed. By variables, since `-c` cannot name a driver that has `=` in it.
 */
export function withoutGitFilters(run: HardenedCommand, names: readonly string[]): HardenedCommand {
  if (run.argv[0] !== 'git' || names.length === 0) return run;
  const keys = names.flatMap((name) =>
    ['clean', 'smudge', 'process', 'required'].map((key) => `filter.${name}.${key}`),
  );
  const set: Record<string, string> = { ...run.set, GIT_CONFIG_COUNT: String(keys.length) };
  for (const [at, key] of keys.entries()) {
    set[`GIT_CONFIG_KEY_${at}`] = key;
    set[`GIT_CONFIG_VALUE_${at}`] = key.endsWith('.required') ? 'false' : '';
  }
  return { ...run, set };
}
