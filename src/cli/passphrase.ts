/** The enrolled person's passphrase out of a pipe. */
import { usage } from './args.ts';

const passphraseBytesMax = 1_024;

/** @throws TrlError INVALID_PARAMS where standard input is a terminal, or it is too long */
export async function passphraseFromStdin(verb: string): Promise<string> {
  if (process.stdin.isTTY) {
    throw usage(verb, '--passphrase-stdin is for a pipe; without it the terminal is asked');
  }
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > passphraseBytesMax) throw usage(verb, 'the passphrase is too long');
  }
  return text.replace(/\r?\n$/, '');
}
