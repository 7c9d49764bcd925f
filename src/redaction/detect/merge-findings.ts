import type { SecretFinding } from '../secret-finding.ts';

/** In the order of the text, overlapping ones as one that has the rule of the surest. */
export function mergeFindings(findings: SecretFinding[]): SecretFinding[] {
  if (findings.length < 2) return findings;
  findings.sort((a, b) => a.start - b.start || b.end - a.end);
  const merged: SecretFinding[] = [];
  for (const finding of findings) {
    const last = merged.at(-1);
    if (last === undefined || finding.start >= last.end) {
      merged.push(finding);
      continue;
    }
    const sure = finding.score > last.score ? finding : last;
    const end = Math.max(last.end, finding.end);
    merged[merged.length - 1] = { ...sure, key: sure.key ?? last.key, start: last.start, end };
  }
  return merged;
}
