/** Asks a layer what stats do not say of the entries that were found in it. */
import type { BytePath } from '../../change.ts';
import { TrlError } from '../../errors.ts';
import { bytePathOf, nameOf, parentOf, textOf } from '../byte-path.ts';
import type { TreeCursor } from './cursor.ts';
import type { LayerAttributes, LayerQuestion } from './layer-attributes.ts';
import type { Found } from './survey.ts';

export interface Asked {
  readonly opaque: Set<BytePath>;
  readonly copied: Set<BytePath>;
}

export interface AskGround {
  readonly upper: string;
  readonly upperCursor: TreeCursor;
  readonly attributes: LayerAttributes;
}

/**
 * One round trip for all, unless modes keep this process out of some.
 *
 * @param meanwhile what is done while the answer is on its way; it may move the cursor
 */
export async function askLayer(
  ground: AskGround,
  questions: Iterable<readonly [Found, LayerQuestion]>,
  meanwhile: () => Promise<void> = async () => {},
): Promise<Asked> {
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
      const name = textOf(found.path);
      throw new TrlError('INTERNAL_ERROR', `Cannot read the layer of an overlay at "${name}"`);
    }
    if (answer) said[question].add(found.path);
  }
  return said;
}

/** Asks again with the modes on the way widened, as for reading. */
async function askClosed(
  ground: AskGround,
  found: Found,
  ask: { readonly path: BytePath; readonly question: LayerQuestion },
): Promise<boolean | null> {
  const { upperCursor, attributes } = ground;
  // Gone meanwhile: neither.
  if (upperCursor.goto(parentOf(found.path)) !== 'here') return false;
  return upperCursor.readable(
    nameOf(found.path),
    async () => (await attributes.read([ask]))[0] ?? null,
  );
}
