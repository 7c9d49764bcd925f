/**
 * Judges a text alone: nothing is looked up, so links, executables and package scripts are unknown,
 * and the verdict says so.
 */
import { judgedShells, type Caller, type JudgedShell, type Verdict } from '../command.ts';
import { createPolicyJudge, type PolicyJudge, type ParsedCommand } from './judge.ts';
import type { Policy } from './policy.ts';

/** Accepts program names such as `sh` and `pwsh`; `null` for an unknown one. */
export function findJudgedShell(name: string): JudgedShell | null {
  const meant = programNames.get(name) ?? name;
  return judgedShells.find((known) => known === meant) ?? null;
}

const programNames: ReadonlyMap<string, JudgedShell> = new Map([
  ['sh', 'posix'],
  ['dash', 'posix'],
  ['pwsh', 'powershell'],
  ['cmd.exe', 'cmd'],
  ['python3', 'python'],
]);

const textAlone = 'Text alone: no workspace, link, executable or script was looked up';
const notForThisShell =
  "The policy's own rules are for bash, posix, zsh and python: none was tried";

// Loaded on demand: most texts are for a POSIX shell.
const windows = () => import('./windows/analyse.ts');

/**
 * The verdict on a text. Python is read by a process of its own (about 20 ms).
 *
 * @param caller who would run it; `null`: one that no rule names
 */
export async function explainText(
  policy: Policy,
  shell: JudgedShell,
  text: string,
  caller: Caller | null = null,
): Promise<Verdict> {
  const judge = createPolicyJudge(policy, caller, null);
  const reading = await readingOf(judge, shell, text);
  const known = { facts: null, exposure: null, variables: [] };
  const verdict = judge.decide(reading, known);
  const hasUnits = shell !== 'powershell' && shell !== 'cmd';
  const hasRules = policy.layers.some(({ commands }) => commands.length > 0);
  const untried = hasRules && !hasUnits ? [notForThisShell] : [];
  const said = verdict.notes.length > 0 ? verdict.notes : [textAlone];
  return { ...verdict, notes: [...said, ...untried] };
}

async function readingOf(
  judge: PolicyJudge,
  shell: JudgedShell,
  text: string,
): Promise<ParsedCommand> {
  const seen = { items: [], plain: null };
  switch (shell) {
    case 'bash':
    case 'posix':
    case 'zsh':
      return judge.parse(text, shell);
    case 'powershell':
    case 'cmd':
      return { analysis: (await windows()).analyseWindows(text, shell), invocations: seen };
    case 'python':
      return judge.parsePython(text);
  }
}
