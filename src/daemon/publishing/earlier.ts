/** What an audience sees already, so that it tells it nothing new. */
import type { BytePath } from '../../change.ts';
import { nameOf } from '../../workspace/byte-path.ts';
import { Slices } from '../../workspace/projection/directory.ts';
import type { EarlierFile } from './leaving.ts';
import { readFileIn } from './reading.ts';
import { Holders } from './survey.ts';

/** Larger files hold data rather than what people wrote. */
const fileBytesMax = 1024 * 1024;

/** Files of the workspace that the audience sees, as far as they can be read. */
export async function* visibleFiles(
  root: string,
  paths: readonly BytePath[],
): AsyncGenerator<EarlierFile, void, void> {
  const slices = new Slices();
  using holders = new Holders(root);
  for (const path of paths) {
    if (slices.over) await slices.turn();
    try {
      const found = await readFileIn(holders.of(path), nameOf(path), fileBytesMax, slices);
      if (found !== null) yield { path, bytes: found.bytes, isOut: false };
    } catch {
      // What cannot be read is not subtracted: more is found then, not less.
    }
  }
}
