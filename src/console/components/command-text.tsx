/** A whole command, never cut, with the parts that rules match marked and numbered. */
import type { DecidingRule, Verdict } from '../../command.ts';
import { splitLineBlocks } from '../text/rule-segments.ts';
import type { RuleSegment } from '../text/rule-segments.ts';
import { TextFragments, VisibleText } from './visible-text.tsx';

type Rules = readonly DecidingRule[];

export function CommandText({
  command,
  rules = [],
}: {
  readonly command: string;
  readonly rules?: Rules;
}) {
  const blocks = splitLineBlocks(command, rules);
  return (
    <code class={blocks.length > 1 ? 'command numbered' : 'command'}>
      {blocks.map(({ number, segments }) => (
        <span class="line" key={number} data-line={number}>
          {segments.map((segment, index) => (
            <Part key={index} segment={segment} rules={rules} />
          ))}
          {'\n'}
        </span>
      ))}
    </code>
  );
}

function Part({ segment, rules }: { readonly segment: RuleSegment; readonly rules: Rules }) {
  const text = <TextFragments fragments={segment.fragments} />;
  if (segment.rules.length === 0) return text;
  const decisions = segment.rules.map((rule) => rules[rule]?.decision);
  const worst = decisions.includes('block') ? 'block' : decisions.includes('ask') ? 'ask' : 'allow';
  return <mark class={worst}>{text}</mark>;
}

/** Reasons of the decision: the rules in order, the strictest first. */
interface ReasonsProps {
  readonly verdict: Verdict;
  /** The command that was judged: evidence that is marked in it is not repeated. */
  readonly command: string;
}

export function VerdictReasons({ verdict, command }: ReasonsProps) {
  return (
    <>
      <ol class="reasons">
        {verdict.rules.map((rule, index) => (
          <li key={index} class={rule.decision}>
            <p>
              <DecisionBadge of={rule.decision} /> <VisibleText of={rule.reason} />{' '}
              <code class="rule">{rule.id}</code>
            </p>
            {rule.via.length > 0 && (
              <p class="more">
                through <VisibleText of={rule.via.join(' › ')} mono />
              </p>
            )}
            {rule.evidence !== null && !isMarked(rule, command) && (
              <p class="more">
                found <VisibleText of={rule.evidence} mono />
              </p>
            )}
            {rule.instead !== null && (
              <p class="more">
                instead: <VisibleText of={rule.instead} />
              </p>
            )}
          </li>
        ))}
      </ol>
      {verdict.notes.map((note, index) => (
        <p class="quiet" key={index}>
          Note: <VisibleText of={note} />
        </p>
      ))}
      <p class="quiet">
        Policy <VisibleText of={verdict.policy.name} mono />
      </p>
    </>
  );
}

const decisionWords = { allow: 'allowed', ask: 'needs approval', block: 'blocked' } as const;

/** Of a command that ran: a person approved it. */
export function RunAuthorizationNote({ verdict }: { readonly verdict: Verdict }) {
  return verdict.decision === 'allow' ? null : <span class="pill">approved</span>;
}

export function DecisionBadge({ of }: { readonly of: Verdict['decision'] }) {
  return <span class={`pill ${of}`}>{decisionWords[of]}</span>;
}

function isMarked({ span, evidence }: DecidingRule, command: string): boolean {
  return span !== null && command.slice(span[0], span[1]) === evidence;
}
