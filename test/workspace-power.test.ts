// A tree whose disk loses its power has no empty or torn file: twenty cuts in `npm run prove`.
import { test } from 'node:test';
import { noPowerCut } from './support/audit-power.ts';
import { PoweredWriters } from './support/writer-power.ts';

const skip = noPowerCut();

for (const place of ['beside', 'apart'] as const) {
  test(`what was applied is whole after a power cut: names ${place}`, { skip }, async () => {
    await using writers = await PoweredWriters.start(
      { cuts: 0, receipts: 0, there: 0, gone: 0 },
      place,
    );
    await writers.round(0, true);
  });
}
