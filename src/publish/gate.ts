/** Whether something may leave: holds each item against all that is denied. */
import type { GateInput, ShownVerdict } from './gate-input.ts';
import type { GateVerdict } from './publication.ts';

/** The strictest finding decides. Findings are the first 200, strictest first. */
export async function checkPublication(input: GateInput): Promise<GateVerdict> {
  await input.turn();
  throw new Error('not here yet');
}

/** What may be told to a caller who must not see what was denied. */
export function withoutEvidence(verdict: GateVerdict): ShownVerdict {
  throw new Error(`not here yet: ${verdict.decision}`);
}
