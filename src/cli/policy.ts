/** `trl policy`: checks, tries, shows and explains policies. No daemon is needed. */
import path from 'node:path';
import { LastingRules, lastingRulesFile, ruleText } from '../approval/lasting-rules.ts';
import { judgedShells } from '../command.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { explainText, findJudgedShell } from '../policy/explain.ts';
import { loadPolicy, loadPolicyFile } from '../policy/files/load.ts';
import type { LoadedPolicy } from '../policy/files/load.ts';
import { PolicyError } from '../policy/files/policy-file.ts';
import { configDirectory } from '../yaml/config-directories.ts';
import { managedPolicyFile, projectPolicyFileName } from '../policy/policy.ts';
import { policyJsonSchema } from '../policy/files/schema.ts';
import { trustProject } from '../policy/files/trust.ts';
import { isPolicyBaseName, policyBaseNames, policyDecisions } from '../policy/policy.ts';
import type { Policy } from '../policy/policy.ts';
import { policyFromProfile, shippedProfiles } from '../policy/profiles.ts';
import { version } from '../protocol/version.ts';
import { formatFileProblem } from '../yaml/file-error.ts';
import { formatVerdict } from './approval-text.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { explainStdinLines } from './policy-explain-lines.ts';
import {
  escapeControls,
  escapeHiddenText,
  printAnswer,
  printDimmed,
  printJson,
  printMessage,
  printRows,
} from './print.ts';
import { commandText } from './run.ts';

/** What decides where nothing is named: what agents' terminals get. */
const fallback = 'guarded';

/** `trl policy check FILE…`: exit code 1 when one cannot be used. */
export async function runPolicyCheck(args: CliArguments): Promise<number> {
  if (args.words.length === 0) throw usageError('policy check', 'name a file');
  let failed = false;
  for (const file of args.words) {
    try {
      const { policy, cases } = load(file);
      const rules = policy.layers.flatMap(({ commands }) => commands).length;
      const { name, base } = policy;
      if (args.has('json')) printJson({ file, ok: true, name, base, version: policy.version });
      else {
        const counts = `${rules} rules, ${cases.length} cases, base ${base}`;
        process.stdout.write(`${escapeControls(file)}: ok: ${counts}, version ${policy.version}\n`);
      }
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      failed = true;
      if (args.has('json')) printJson({ file, ok: false, problems: error.problems });
      else sayProblems(error);
    }
  }
  return failed ? 1 : 0;
}

function sayProblems({ file, problems }: PolicyError): void {
  const lines = problems.map((problem) => `${escapeControls(formatFileProblem(file, problem))}\n`);
  process.stderr.write(lines.join(''));
}

/** `trl policy test [FILE]`: the shipped examples, and those of a file with its cases. */
export async function runPolicyTest(args: CliArguments): Promise<number> {
  const [file, unwanted] = args.words;
  if (unwanted !== undefined) {
    throw usageError('policy test', `one file at most, got "${unwanted}"`);
  }
  const { checkKnowledgeExamples } = await import('../policy/commands/check.ts');
  const failures = [...checkKnowledgeExamples()];
  let count = 0;
  if (file !== undefined) {
    try {
      const { policy, cases } = load(file);
      count = cases.length;
      for (const { command, shell, expect, line, column } of cases) {
        const { decision, rules } = await explainText(policy, shell, command);
        if (decision === expect) continue;
        const by = rules.map(({ id }) => id).join(', ');
        const message = `expected ${expect}, got ${decision} (${by}): ${command}`;
        failures.push(formatFileProblem(file, { line, column, message }));
      }
    } catch (error) {
      if (!(error instanceof PolicyError)) throw error;
      failures.push(...error.problems.map((problem) => formatFileProblem(error.file, problem)));
    }
  }
  if (args.has('json')) printJson({ ok: failures.length === 0, cases: count, failures });
  else {
    for (const failure of failures) process.stderr.write(`${escapeControls(failure)}\n`);
    const said = failures.length === 0 ? 'all hold' : `${failures.length} do not hold`;
    process.stdout.write(`the shipped examples and ${count} cases: ${said}\n`);
  }
  return failures.length === 0 ? 0 : 1;
}

/** `trl policy explain -- COMMAND` and `trl policy explain --stdin`. */
export async function runPolicyExplain(args: CliArguments): Promise<number> {
  const policy = chosenPolicy(args);
  const shell = args.read('shell', findJudgedShell, judgedShells.join(' or ')) ?? 'bash';
  if (args.has('stdin')) {
    if (args.words.length > 0) throw usageError('policy explain', '--stdin takes no command');
    await explainStdinLines(policy, shell);
    return 0;
  }
  if (args.words.length === 0) {
    throw usageError(
      'policy explain',
      'there is no command; example: trl policy explain -- git push',
    );
  }
  const isPosix = shell === 'bash' || shell === 'posix' || shell === 'zsh';
  const command = isPosix ? commandText(args.words) : args.words.join(' ');
  const verdict = await explainText(policy, shell, command);
  if (args.has('json')) printJson({ command, shell, ...verdict });
  else {
    process.stdout.write(formatVerdict(command, verdict));
    if (isUnset(args.text('policy'), policy) && process.stderr.isTTY) {
      printDimmed('no policy is set here; trl run and trl serve begin with auto: --policy auto');
    }
  }
  return 0;
}

/** `trl policy schema`: the JSON Schema of a policy file. */
export async function runPolicySchema(): Promise<number> {
  process.stdout.write(`${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
  return 0;
}

/** `trl policy trust DIR`: the project's file there holds from now on, as it is now. */
export async function runPolicyTrust(args: CliArguments): Promise<number> {
  const [directory, unwanted] = args.words;
  if (directory === undefined || unwanted !== undefined) {
    throw usageError('policy trust', 'name one directory');
  }
  const found = trustProject(directory, { version: version() });
  if (args.has('json')) {
    printJson({ directory: found.directory, sha256: found.sha256 });
  } else if (found.sha256 === null) {
    printMessage(
      `there is no ${projectPolicyFileName} in "${found.directory}"; what was trusted is forgotten`,
    );
  } else {
    const rules = found.file?.commands.length ?? 0;
    printMessage(`trusted "${path.join(found.directory, projectPolicyFileName)}" (${rules} rules)`);
    printMessage(
      `sha256 ${found.sha256}; when it changes, nothing runs there until it is trusted again`,
    );
  }
  return 0;
}

/** `trl policy show [NAME|FILE]`: what it consists of; without a name, what would decide here. */
export async function runPolicyShow(args: CliArguments): Promise<number> {
  const [name, unwanted] = args.words;
  if (unwanted !== undefined) {
    throw usageError('policy show', `one name at most, got "${unwanted}"`);
  }
  const policy = name === undefined ? ownPolicy() : named(name);
  if (args.has('json')) {
    printJson(policy);
    return 0;
  }
  const { base, network, hosts, approvals, files, limits, withhold, publication } = policy;
  const seconds = approvals.expiresMs / 1_000;
  const grantable = (lists: readonly (readonly string[])[]): string =>
    lists.length === 0 ? 'as asked for' : lists.map((list) => list.join(', ')).join(' and ');
  const isUnnamed = isUnset(name, policy);
  const rows: (readonly [string, string])[] = [
    ...(isUnnamed ? [['from', 'no file: trl run and trl serve begin with auto'] as const] : []),
    ['name', policy.name],
    ['version', policy.version],
    ['base', `${base}: ${shippedProfiles[base].about}`],
    ...policy.layers.map((layer) => ['layer', showLayer(layer)] as const),
    ...policy.layers.flatMap(({ commands }) =>
      commands.map(({ id, decision, match }) => {
        return ['rule', `${decision} ${JSON.stringify(match)} (${id})`] as const;
      }),
    ),
    ['network', `at most ${network}`],
    ...showHosts(hosts),
    ['read', grantable(files.read)],
    ['write', grantable(files.write)],
    ['deny', files.deny.join(', ') || 'nothing more'],
    ['withheld', withhold.join(', ') || 'nothing more'],
    ...policy.layers.flatMap(({ grants }) => showGrants(grants)),
    ...Object.entries(limits).map(([limit, most]) => ['limit', `${limit} ${most}`] as const),
    ...showPublication(publication),
    ['approvals', `expire after ${seconds} s${approvals.sameUid ? '' : ', need a passphrase'}`],
  ];
  const lines = rows.map(([key, value]) => `${key.padEnd(9)}  ${escapeControls(value)}\n`);
  process.stdout.write(lines.join(''));
  return 0;
}

const showHosts = (hosts: Policy['hosts']): (readonly [string, string])[] =>
  (['allow', 'deny', 'private'] as const).flatMap((of) =>
    hosts[of].length === 0 ? [] : [['hosts', `${of} ${hosts[of].join(', ')}`] as const],
  );

/** Whether `policy` is only what is taken where nobody names one and no file decides. */
const isUnset = (name: string | undefined, { layers }: Policy): boolean =>
  name === undefined && layers[0]?.kind === 'profile';

function showPublication(rules: Policy['publication']): (readonly [string, string])[] {
  const { audiences, canaries } = rules;
  const rows = audiences.flatMap(({ name, deny, sees, names, interference }) => {
    const said = [
      ...(deny.length === 0 ? [] : [`deny ${deny.join(', ')}`]),
      ...sees.map((list) => `sees ${list.join(', ')}`),
      ...(names.length === 0 ? [] : [`names ${names.join(', ')}`]),
      ...(interference === 'pass' ? [] : [`interference ${interference}`]),
    ];
    return said.length === 0 ? [] : [['publish', `${name}: ${said.join('; ')}`] as const];
  });
  // Not which: what this prints may be pasted somewhere.
  return canaries.length === 0 ? rows : [...rows, ['publish', `${canaries.length} canaries`]];
}

function showGrants(grants: Policy['layers'][number]['grants']): (readonly [string, string])[] {
  if (grants === undefined) return [];
  const kinds = [
    ['secret', grants.secrets],
    ['variable', grants.environment],
  ] as const;
  return kinds.flatMap(([kind, rules]) =>
    policyDecisions.flatMap((decision) => {
      const names = rules[decision];
      return names.length === 0 ? [] : [[kind, `${decision} ${names.join(', ')}`] as const];
    }),
  );
}

function showLayer({ kind, name, base, callers }: Policy['layers'][number]): string {
  const others = callers.map(
    (rule) => `${rule.actor ?? rule.kind ?? rule.role ?? 'anyone'} → ${rule.base}`,
  );
  return [kind, name, base ?? 'no base', ...others].join(', ');
}

function chosenPolicy(args: CliArguments): Policy {
  const name = args.text('policy');
  return name === undefined ? ownPolicy() : named(name);
}

/** What decides here: the user's file and the managed one, else `guarded`. */
function ownPolicy(): Policy {
  return loadPolicy({ fallback, version: version() });
}

function named(name: string): Policy {
  if (isPolicyBaseName(name)) return policyFromProfile(name);
  try {
    return load(name).policy;
  } catch (error) {
    const isAbsent = isTrlError(error) && error.message.includes('there is no such file');
    if (!isAbsent || name.includes('/')) throw error;
    const known = policyBaseNames.join(', ');
    const message = `Cannot use the policy "${name}": it is neither a file nor one of ${known}`;
    throw new TrlError('INVALID_PARAMS', message, { cause: error });
  }
}

function load(file: string): LoadedPolicy {
  const kinds = [
    { kind: 'project', is: path.basename(file) === projectPolicyFileName },
    { kind: 'managed', is: path.resolve(file) === managedPolicyFile },
  ] as const;
  const kind = kinds.find(({ is }) => is)?.kind ?? 'user';
  return loadPolicyFile(file, { kind, version: version() }, fallback);
}

// `trl policy rules`: what answers for a project let run. No daemon is needed.

/** `trl policy rules [remove ID]`; the start of an id is enough. */
export async function runPolicyRules(args: CliArguments): Promise<number> {
  const kept = new LastingRules(path.join(configDirectory(), lastingRulesFile));
  const [verb, id, unwanted] = args.words;
  if (verb === undefined) return list(kept, args);
  if (verb !== 'remove' || id === undefined || unwanted !== undefined) {
    throw usageError('policy rules', 'nothing, or: remove ID');
  }
  const removed = kept.remove(id);
  return printAnswer(args, removed, () =>
    printMessage(`${removed.id} is removed: ${escapeHiddenText(ruleText(removed.of))}`),
  );
}

function list(kept: LastingRules, args: CliArguments): number {
  const found = kept.list();
  const rows = found.map(({ id, created_at: at, by, of }) => [
    id,
    at,
    escapeHiddenText(by),
    // The last column, and never cut.
    escapeHiddenText(ruleText(of)),
  ]);
  return printRows(
    args,
    { rules: found.map((rule) => ({ ...rule, text: ruleText(rule.of) })) },
    ['RULE', 'SINCE', 'ANSWERED BY', 'WHAT'],
    rows,
  );
}
