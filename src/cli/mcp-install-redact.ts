/** Files of other programs hold their keys, so what is shown of them is redacted first. */
import { loadConfiguration } from '../configuration/load.ts';
import { version } from '../protocol/version.ts';
import { openRedactor } from '../redaction/open-redactor.ts';
import { RedactionTags } from '../redaction/redaction-tags.ts';
import { readTagKey } from './tag-key.ts';
import { escapeHiddenText } from './escape-text.ts';

/** `text` without what looks like a secret, and without what could steer a terminal. */
export async function redactForDisplay(text: string): Promise<string> {
  const { redaction } = await loadConfiguration({ env: process.env, version: version() });
  const tags = new RedactionTags(readTagKey());
  const stream = openRedactor({
    options: redaction,
    prior: 'none',
    index: null,
    tags,
    onRedaction: told,
  });
  const parts = [stream.push(Buffer.from(text)), stream.end()];
  return Buffer.concat(parts)
    .toString('utf8')
    .replaceAll(/[^\n\t]+/g, (found) => escapeHiddenText(found));
}

const told = (): void => {};
