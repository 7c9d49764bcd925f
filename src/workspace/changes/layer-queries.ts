/** Asks a layer what stats do not say of the entries that were found in it. */
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { bytePathOf, baseNameOf, parentPathOf, pathText } from '../byte-path.ts';
import type { TreeCursor } from './tree-cursor.ts';
import type { LayerAttributes, LayerQuery } from './layer-attributes.ts';
import type { LayerFinding } from './layer-survey.ts';

export interface LayerAnswers {
  readonly opaque: Set<BytePath>;
  readonly copied: Set<BytePath>;
}

export interface LayerQueryContext {
  readonly upper: string;
  readonly upperCursor: TreeCursor;
  readonly attributes: LayerAttributes;
}

/**
 * One round trip for all, unless modes keep this process out of some.
 *
 * @param meanwhile what is done while the answer is on its way; it may move the cursor
 */
export async function queryLayer(
  ground: LayerQueryContext,
  questions: Iterable<readonly [LayerFinding, LayerQuery]>,
  meanwhile: () => Promise<void> = async () => {},
): Promise<LayerAnswers> {
  const asked = [...questions];
  const prefix = bytePathOf(ground.upper);
  const asks = asked.map(([{ path }, question]) => ({ path: `${prefix}/${path}`, question }));
  const answering = ground.attributes.read(asks);
  // Should both fail, that it was not awaited yet must not end this process.
  answering.catch(() => null);
  await meanwhile();
  const answers = await answering;
  const said = { opaque: new Set<BytePath>(), copied: new Set<BytePath>() };
  for (const [at, [found, question]] of asked.entries()) {
    const ask = asks[at];
    const answer = answers[at] ?? (ask === undefined ? null : await askClosed(ground, found, ask));
    if (answer === null) {
      const name = pathText(found.path);
      throw new TrlError('INTERNAL_ERROR', `Cannot read the layer of an overlay at "${name}"`);
    }
    if (answer) said[question].add(found.path);
  }
  return said;
}

/** Asks again with the modes on the way widened, as for reading. */
async function askClosed(
  ground: LayerQueryContext,
  found: LayerFinding,
  ask: { readonly path: BytePath; readonly question: LayerQuery },
): Promise<boolean | null> {
  const { upperCursor, attributes } = ground;
  // Gone meanwhile: neither.
  if (upperCursor.goto(parentPathOf(found.path)) !== 'here') return false;
  return upperCursor.readable(
    baseNameOf(found.path),
    async () => (await attributes.read([ask]))[0] ?? null,
  );
}
