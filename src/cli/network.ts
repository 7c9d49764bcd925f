/** Network for `trl run`: what its text is seen to need is asked about before it starts. */
import type { SessionCreateParams } from '../client/index.ts';
import { detectNetworkNeed } from '../tools/network-need.ts';
import type { CliArguments } from './args.ts';
import { escapeControls, printDimmed } from './print.ts';

const chosen = ['net', 'network', 'policy', 'sandbox', 'session', 'quiet'] as const;

/**
 * What its session gets besides; nothing where a flag says what is wanted, or nobody sits at the
 * terminal to answer. It passes `auto`, so that network is always a question.
 */
export function networkSessionParams(
  args: Pick<CliArguments, 'has'>,
  text: string,
  isAnswered: boolean,
): Pick<SessionCreateParams, 'network' | 'policy'> {
  if (!isAnswered || chosen.some((name) => args.has(name))) return {};
  const need = detectNetworkNeed(text);
  if (need === null) return {};
  printDimmed(
    `"${escapeControls(need)}" needs the network, so it is asked about; --net off runs it without`,
  );
  return { network: 'on', policy: 'auto' };
}
