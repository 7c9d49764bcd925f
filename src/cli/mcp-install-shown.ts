/** Files of other programs hold their keys, so what is shown of them is redacted first. */
import { loadConfiguration } from '../configuration/load.ts';
import { version } from '../protocol/version.ts';
import { openRedactor } from '../redaction/open.ts';
import { Tags } from '../redaction/tag.ts';
import { tagKey } from './tag-key.ts';
import { visible } from './visible.ts';

/** `text` without what looks like a secret, and without what could steer a terminal. */
export async function shownText(text: string): Promise<string> {
  const { redaction } = await loadConfiguration({ env: process.env, version: version() });
  const tags = new Tags(tagKey());
  const stream = openRedactor({ options: redaction, prior: 'none', index: null, tags, told });
  const parts = [stream.push(Buffer.from(text)), stream.end()];
  return Buffer.concat(parts)
    .toString('utf8')
    .replaceAll(/[^\n\t]+/g, (found) => visible(found));
}

const told = (): void => {};
