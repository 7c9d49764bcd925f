/** `trl completions`: what a shell needs to complete verbs, flags and their values. */
import { quoteSingle } from '../quote.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { flagDefinitions } from './flags.ts';
import type { FlagDefinition, FlagName } from './flags.ts';
import { takesCommand } from './verb.ts';
import type { Verb } from './verb.ts';
import { verbGroups, verbs, verbsOfGroup } from './verbs.ts';

const scripts: ReadonlyMap<string, () => string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);

export async function runCompletions(args: CliArguments): Promise<number> {
  const [shell = ''] = args.words;
  const script = scripts.get(shell);
  if (script === undefined || args.words.length > 1) {
    throw usageError('completions', `name one shell: ${[...scripts.keys()].join(', ')}`);
  }
  process.stdout.write(script());
  return 0;
}

interface Word {
  readonly word: string;
  readonly about: string;
}

/** The first words: verbs, and groups of verbs such as `session`. */
function firstWords(): Word[] {
  const single = [...verbs].filter(([name]) => !name.includes(' '));
  const groups = [...verbGroups].filter((group) => !verbs.has(group));
  return [
    ...single.map(([word, { about }]) => ({ word, about })),
    ...groups.map((word) => ({ word, about: verbsOfGroup(word).join(', ') })),
  ];
}

function allFlags(): [FlagName, FlagDefinition][] {
  const used = new Set([...verbs.values()].flatMap((verb) => verb.flags));
  return [...used].map((name) => [name, flagDefinitions[name]]);
}

function bash(): string {
  const values = allFlags().flatMap(([name, { value, complete }]) => {
    if (value === null) {
      return [];
    }
    const actions = { file: 'compgen -f', directory: 'compgen -d' };
    const action =
      typeof complete === 'string'
        ? actions[complete]
        : `compgen -W "${(complete ?? []).join(' ')}"`;
    return [`    --${name}) COMPREPLY=($(${action} -- "$cur")); return ;;`];
  });
  const rows = [...verbs].map(([name, verb]) => {
    const words = [...verb.flags.map((flag) => `--${flag}`), ...(verb.complete ?? [])];
    return `    "${name}") words="${words.join(' ')}" ;;`;
  });
  const grouped = [...verbGroups].map((group) => {
    const words = verbsOfGroup(group).join(' ');
    return `    ${group}) verb="$verb \${COMP_WORDS[2]}"; at=3; words="${words}" ;;`;
  });
  return `# bash completion for trl
_trl() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local verb="\${COMP_WORDS[1]}" words="" at=2
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${firstWords()
      .map(({ word }) => word)
      .join(' ')}" -- "$cur"))
    return
  fi
  case "$verb" in
${grouped.join('\n')}
  esac
  if [ "$COMP_CWORD" -ge "$at" ]; then
    case "$verb" in
${rows.map((row) => `  ${row}`).join('\n')}
    esac
  fi
  case "$prev" in
${values.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _trl trl
`;
}

function zsh(): string {
  const first = firstWords().map(({ word, about }) => quoteSingle(`${word}:${about}`));
  const single = [...verbs].filter(([name]) => !name.includes(' '));
  const rows = single.map(([name, verb]) => `    ${name}) ${zshArguments(verb)} ;;`);
  const grouped = [...verbGroups].map((group) => {
    const inner = verbsOfGroup(group).map((word) => {
      const verb = verbs.get(`${group} ${word}`);
      return `        ${word}) ${verb === undefined ? ':' : zshArguments(verb)} ;;`;
    });
    return `    ${group})
      if (( CURRENT == 2 )); then
        _values verb ${verbsOfGroup(group).join(' ')}
        return
      fi
      shift words
      (( CURRENT -= 1 ))
      case "$words[1]" in
${inner.join('\n')}
      esac
      ;;`;
  });
  return `#compdef trl
_trl() {
  local -a verbs
  if (( CURRENT == 2 )); then
    verbs=(${first.join(' ')})
    _describe verb verbs
    return
  fi
  shift words
  (( CURRENT -= 1 ))
  case "$words[1]" in
${[...rows, ...grouped].join('\n')}
  esac
}
if [[ "$funcstack[1]" == _trl ]]; then
  _trl "$@"
else
  compdef _trl trl
fi
`;
}

function zshArguments(verb: Verb): string {
  const specs = verb.flags.map((name) => {
    const { value, about, many, complete }: FlagDefinition = flagDefinitions[name];
    const actions = { file: '_files', directory: '_files -/' };
    const action =
      typeof complete === 'string' ? actions[complete] : `(${(complete ?? []).join(' ')})`;
    const said = about.replaceAll(/[[\]:]/g, (found) => `\\${found}`);
    const taken = value === null ? '' : `:${value}:${action}`;
    return quoteSingle(`${many ? '*' : ''}--${name}[${said}]${taken}`);
  });
  const rest = takesCommand(verb)
    ? "'*::command:_normal'"
    : quoteSingle(`*:word:(${(verb.complete ?? []).join(' ')})`);
  return `_arguments ${[...specs, rest].join(' ')}`;
}

function fish(): string {
  const verbTests = [...verbs].flatMap(([name, verb]) => {
    const on = `complete -c trl -n '__trl_verb ${name}'`;
    const rows = verb.flags.map((flag) => `${on} ${fishFlag(flag)}`);
    const words = verb.complete === undefined ? [] : [`${on} -x -a '${verb.complete.join(' ')}'`];
    return [...rows, ...words];
  });
  const first = firstWords().map(
    ({ word, about }) =>
      `complete -c trl -n __fish_use_subcommand -x -a ${word} -d ${fishQuote(about)}`,
  );
  const second = [...verbGroups].map(
    (group) => `complete -c trl -n '__trl_group ${group}' -x -a '${verbsOfGroup(group).join(' ')}'`,
  );
  return `# fish completion for trl
function __trl_verb
  set -l words (commandline -opc)
  set -l last (math 1 + (count $argv))
  test "$words[2..$last]" = "$argv"
end
function __trl_group
  set -l words (commandline -opc)
  test (count $words) -eq 2; and test "$words[2]" = "$argv[1]"
end
${[...first, ...second, ...verbTests].join('\n')}
`;
}

function fishFlag(name: FlagName): string {
  const { value, about, complete }: FlagDefinition = flagDefinitions[name];
  const actions = { file: '-r -F', directory: "-x -a '(__fish_complete_directories)'" };
  const words = typeof complete === 'object' ? ` -a '${complete.join(' ')}'` : '';
  const taken = typeof complete === 'string' ? actions[complete] : `-x${words}`;
  return `-l ${name} ${value === null ? '' : `${taken} `}-d ${fishQuote(about)}`;
}

function fishQuote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, (found) => `\\${found}`)}'`;
}
