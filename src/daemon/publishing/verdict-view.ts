/** Verdicts as answers contain them. */
import { withoutEvidence } from '../../publish/gate.ts';
import type { GateFinding } from '../../publish/publication.ts';
import type { FindingView, PublishVerdict } from '../../api/publish.ts';
import type { InspectedPublication } from './publication-records.ts';

/** @param withEvidence for a person who has proved to be one */
export function publishVerdictView(
  { verdict, audience, policyVersion }: InspectedPublication,
  digest: string,
  withEvidence: boolean,
): PublishVerdict {
  const { decision, basis, items, bytes } = verdict;
  const findings = withEvidence
    ? verdict.findings.map(findingView)
    : withoutEvidence(verdict).findings.map(
        ({ rule, decision: decided, item, trace }): FindingView => ({
          rule,
          decision: decided,
          item,
          trace,
        }),
      );
  const head = { decision, basis, audience, policy_version: policyVersion };
  return { ...head, items, bytes, digest, findings };
}

function findingView({ rule, decision, item, score, trace, evidence }: GateFinding): FindingView {
  const { source, span, lines, via, text } = evidence;
  // A reader can identify a secret without its value.
  const shown = rule.startsWith('secret.') ? null : text;
  const told = { score, source, span, lines, via, text: shown };
  return { rule, decision, item, trace, evidence: told };
}
