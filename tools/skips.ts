// A reporter of node's test runner: how many tests were skipped, and why.
import type { TestEvent } from 'node:test/reporters';

// oxlint-disable-next-line import/no-default-export -- node's test runner wants it so
export default async function* skips(source: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const reasons = new Map<string, number>();
  let all = 0;
  for await (const { type, data } of source) {
    if (type !== 'test:pass' || data.skip === undefined || data.skip === false) continue;
    const what = data.details.type === 'suite' ? `all of "${data.name}": ` : '';
    const reason = `${what}${data.skip === true ? 'without a reason' : data.skip}`;
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    all += 1;
  }
  if (all > 0) yield `npm test: skipped: ${all}\n`;
  for (const [reason, count] of reasons) yield `  ${count}  ${reason}\n`;
}
