/** A verdict of the publication gate, as lines for a person. */
import type { FindingView, PublishVerdict } from '../client/index.ts';
import { escapeHiddenText } from './escape-text.ts';

/** What to do about a finding, by its rule. */
const advice: ReadonlyMap<string, string> = new Map([
  ['secret.known', 'take the secret out, and change it where it was seen'],
  ['secret.likely', 'take it out if it is a secret'],
  ['canary', 'take it out: it was planted in what nobody should read'],
  ['denied.path', 'leave the file out'],
  ['denied.name', 'name something else'],
  ['denied.content', 'take the passage out'],
  ['denied.file', 'leave the file out: it is a copy of one that is denied'],
  ['unscannable', 'look at it yourself: nobody else can look into it'],
  ['interference', 'run the command again where it cannot read what is denied'],
]);

const words = { pass: 'passed', review: 'needs a review', block: 'blocked' } as const;
const order = { pass: 'pass', review: 'review', block: 'block ' } as const;

/** `block  denied.content  src/a.ts  t-…`, and below it what to do. */
export function publishFindingLines({ findings }: PublishVerdict): string[] {
  const told = new Set<string>();
  return findings.flatMap((finding) => {
    const { rule, decision, item, trace } = finding;
    const where = item === null ? '(a name that is denied)' : escapeHiddenText(item);
    const line = `${order[decision].padEnd(6)}  ${rule.padEnd(14)}  ${where}  ${trace}`;
    const help = told.has(rule) || decision === 'pass' ? undefined : advice.get(rule);
    told.add(rule);
    return [line, ...evidenceLines(finding), ...(help === undefined ? [] : [`        ${help}`])];
  });
}

function evidenceLines({ evidence }: FindingView): string[] {
  if (evidence === undefined) return [];
  const { source, lines, via, text, score } = evidence;
  const from = lines === null ? '' : `, lines ${lines[0]} to ${lines[1]}`;
  const decoded = via.length === 0 ? '' : `, in ${via.join(' in ')}`;
  const novel = score === null ? '' : `, ${score} characters`;
  const first = `        of ${escapeHiddenText(source)}${from}${decoded}${novel}`;
  return [first, ...(text === null ? [] : [`        │ ${escapeHiddenText(text)}`])];
}

/** One sentence about all of it. */
export function publishSummary({
  decision,
  audience,
  items,
  findings,
  basis,
}: PublishVerdict): string {
  const count = (all: number, what: string): string => `${all} ${what}${all === 1 ? '' : 's'}`;
  const found = findings.filter((one) => one.decision !== 'pass').length;
  const known = basis === 'non-interference' ? '; who made it could read nothing denied' : '';
  const more = found === 0 ? '' : `, ${count(found, 'finding')}`;
  return `${words[decision]} for "${audience}": ${count(items, 'item')} looked at${more}${known}`;
}

/** How it can be let through; `null`: it need not be. */
export function publishRemedy({ decision }: PublishVerdict): string | null {
  switch (decision) {
    case 'pass':
      return null;
    case 'review':
      return 'a person can let it through: repeat it with --accept; --evidence says what was found';
    case 'block':
      return (
        'nobody can let it through as it is; --evidence says what was found, and ' +
        '"trl audit log --kind publication.blocked --json" too'
      );
  }
}
