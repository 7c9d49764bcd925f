/**
 * The commands whose shape a lasting approval may name, each with the flags that are known to
 * change neither what runs nor where it goes. Any other command has no shape, and needs approval
 * again.
 */

export interface ShapeGrammar {
  /** Flags without a value; short ones one by one. */
  readonly flags: readonly string[];
  /** Flags whose value is the next word or follows `=`, and what that may be. */
  readonly values: Readonly<Record<string, RegExp>>;
  /** What a word that is no flag may be; the rule names it exactly. */
  readonly operand: RegExp | null;
  readonly operandsMin: number;
  readonly operandsMax: number;
  /** Other files of the project that determine what it does. */
  readonly project: 'npm' | 'git' | null;
  /** A flag without which there is no shape. */
  readonly needed?: string;
}

const number = /^\d{1,9}$/;
const file = /^(?!-)[\w.][\w./-]*$/;
/** Without a user, a port, or what a URL parser may misread. */
const url = /^https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\/[\w.~/%+:@,;=&?-]*$/;
const repository = /^https:\/\/[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?:\/[\w.~-]+)+\/?$/;
const pypi = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[a-z0-9_,-]+\])?(?:[=<>~!]=[A-Za-z0-9.*+!-]+)?$/;

const npm: ShapeGrammar = {
  flags: words(
    '--no-audit --no-fund --ignore-scripts --prefer-offline --quiet --silent ' +
      '--no-progress --omit=dev',
  ),
  values: {},
  operand: null,
  operandsMin: 0,
  operandsMax: 0,
  project: 'npm',
};
const fetching: ShapeGrammar = {
  flags: words('-a --all -p --prune -t --tags -q --quiet -v --verbose --dry-run --no-tags'),
  values: { '--depth': number },
  operand: /^[A-Za-z][\w-]*$/,
  operandsMin: 0,
  operandsMax: 1,
  project: 'git',
};

/** By program and subcommand; the empty text: it has none. */
export const shapeGrammars: Readonly<Record<string, Readonly<Record<string, ShapeGrammar>>>> = {
  npm: { install: npm, i: npm, ci: npm },
  pnpm: {
    install: { ...npm, flags: words('--frozen-lockfile --ignore-scripts --prefer-offline') },
  },
  pip: { install: pip() },
  pip3: { install: pip() },
  git: {
    fetch: fetching,
    clone: {
      flags: words('-q --quiet -v --verbose --single-branch --no-tags'),
      values: { '--depth': number },
      operand: repository,
      operandsMin: 1,
      operandsMax: 1,
      project: null,
    },
  },
  curl: { '': curl() },
  wget: {
    '': {
      flags: words('-q --quiet -nv'),
      values: { '-O': file, '--tries': number, '--timeout': number },
      operand: url,
      operandsMin: 1,
      operandsMax: 1,
      project: null,
    },
  },
};

function pip(): ShapeGrammar {
  return {
    flags: words('-q --quiet -U --upgrade --user --no-cache-dir --only-binary=:all:'),
    values: { '--timeout': number, '--retries': number },
    operand: pypi,
    operandsMin: 1,
    operandsMax: 16,
    project: null,
    // What the cache has is run, and every command of the project writes it.
    needed: '--no-cache-dir',
  };
}

function curl(): ShapeGrammar {
  return {
    flags: words(
      '-s --silent -S --show-error -f --fail -I --head -i --include -v --verbose --compressed -O',
    ),
    values: { '-o': file, '--output': file, '--retry': number, '-m': number, '--max-time': number },
    operand: url,
    operandsMin: 1,
    operandsMax: 1,
    project: null,
  };
}

function words(text: string): readonly string[] {
  return text.split(' ');
}
