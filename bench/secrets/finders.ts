/** The detectors that are measured: ours, and secretlint with its recommended preset. */
import { lintSource } from '@secretlint/core';
import { creator } from '@secretlint/secretlint-rule-preset-recommend';
import { Detector } from '../../src/redaction/detect/detector.ts';
import { secretPriorOf } from '../../src/redaction/detect/secret-prior.ts';
import type { RedactionProfile } from '../../src/redaction/secret-finding.ts';
import type { Find, Span } from './measure.ts';

/** A fresh detector for each text. */
export function ours(profile: RedactionProfile): Find {
  return (text, cmd) => {
    const bytes = Buffer.from(text, 'utf8');
    const latin1 = bytes.toString('latin1');
    const prior = cmd === null ? 'none' : secretPriorOf(cmd);
    const findings = new Detector({ profile, prior }).scan(latin1, bytes);
    const utf16 = offsets(text, bytes.length);
    return findings.map(({ start, end }): Span => [utf16(start), utf16(end)]);
  };
}

/** From offsets in UTF-8 to offsets in UTF-16. */
function offsets(text: string, bytes: number): (at: number) => number {
  if (bytes === text.length) return (at) => at;
  return (at) => Buffer.from(text, 'utf8').subarray(0, at).toString('utf8').length;
}

const rule = { id: '@secretlint/secretlint-rule-preset-recommend', rule: creator };

export const secretlint: Find = async (text) => {
  const { messages } = await lintSource({
    source: { content: text, filePath: 'output.txt', ext: '.txt', contentType: 'text' },
    options: { config: { rules: [rule] } },
  });
  return messages.map(({ range }): Span => [range[0], range[1]]);
};
