/** What `--help` prints. */
import { flagDefinitions } from './flags.ts';
import type { FlagDefinition, FlagName } from './flags.ts';
import { verbs } from './verbs.ts';
import type { Verb } from './verb.ts';

const exitCodes = `Exit codes: the command's own; 124 time-out, 125 the runtime failed, 126 refused,
127 command not found, 128+N ended by signal N.`;

export function overallHelp(): string {
  // Verbs of one group stand together, and those without a group.
  const groups = new Set([...verbs.keys()].map(groupOf));
  const shown = [...groups].map((group) =>
    columns(
      [...verbs]
        .filter(([name]) => groupOf(name) === group)
        .map(([name, verb]) => [`${name} ${verb.words}`, verb.about] as const),
    ),
  );
  return `trl runs commands for AI agents in a sandbox and says truthfully what happened.

Usage: trl VERB [FLAG…]

${shown.join('\n\n')}

trl VERB --help says more; trl --version shows the version.

${exitCodes}
`;
}

/** `session` of `session list`; empty where the name is one word. */
const groupOf = (name: string): string => /^(\S+) /.exec(name)?.[1] ?? '';

export function verbHelp(name: string, verb: Verb): string {
  const hasFlags = verb.flags.length > 0;
  const usage = ['trl', name, hasFlags ? '[FLAG…]' : '', verb.words].filter((part) => part !== '');
  const rows = verb.flags.map((flag) => [flagUsage(flag), flagDefinitions[flag].about] as const);
  const parts = [`${verb.about}\n\nUsage: ${usage.join(' ')}`, columns(rows)];
  if (verb.examples.length > 0) {
    parts.push(`Examples:\n${verb.examples.map((example) => `  ${example}`).join('\n')}`);
  }
  if (name === 'run') {
    parts.push(exitCodes);
  }
  return `${parts.join('\n\n')}\n`;
}

/** Help of the verbs that begin with `group`, such as `session`. */
export function groupHelp(group: string): string {
  const rows = [...verbs]
    .filter(([name]) => name.startsWith(`${group} `))
    .map(([name, verb]) => [`${name} ${verb.words}`, verb.about] as const);
  return `Usage: trl ${group} VERB [FLAG…]\n\n${columns(rows)}\n`;
}

function flagUsage(name: FlagName): string {
  const flag: FlagDefinition = flagDefinitions[name];
  return `--${name}${flag.value === null ? '' : ` ${flag.value}`}${flag.many ? ' …' : ''}`;
}

function columns(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.trimEnd().length));
  return rows.map(([left, right]) => `  ${left.trimEnd().padEnd(width)}  ${right}`).join('\n');
}
