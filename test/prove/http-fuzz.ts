// Proof: 10,000 malformed requests, generated from /openapi.json, get a clear refusal each: no
// 5xx, nothing of a token or a secret in any answer, and nothing is left behind.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { cleanUp, fuzz, held } from '../support/openapi-fuzz.ts';
import { startOpenapi } from '../support/openapi-server.ts';

const count = Number(process.argv[2] ?? 10_000);
const seed = Number(process.argv[3] ?? 20_261_122);
const secret = ['a', 'secret', 'that', 'nobody', 'may', 'see', '9417'].join('-');
const rssGrowthMax = 96 * 1_024 * 1_024;
const descriptorsMore = 8;

await using server = await startOpenapi({ FUZZ_SECRET: secret });
const { daemon, token } = server;
const roles = ['agent', 'approver', 'auditor', 'admin'];
const tokens = [token, ...roles.map((role) => server.newToken(role))];
const run = (requests: number, from: number) =>
  fuzz({ server, tokens, count: requests, seed: from, connections: 8, hidden: [secret] });

const settle = async () => {
  await cleanUp(daemon);
  await sleep(3_000);
  return held(daemon);
};
await run(Math.ceil(count / 4), seed + 1);
const before = await settle();
const begun = performance.now();
const { statuses, kinds } = await run(count, seed);
const seconds = (performance.now() - begun) / 1_000;
const after = await settle();

const listed = (map: ReadonlyMap<string | number, number>) =>
  [...map].toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1));
console.log(`${count} requests in ${seconds.toFixed(1)} s, seed ${seed}`);
console.log('statuses', Object.fromEntries(listed(statuses)));
console.log('spoiled', Object.fromEntries(listed(kinds)));
console.log('before', before);
console.log('after', after);
assert.equal(after.sessions, before.sessions);
assert.ok(after.processes <= before.processes, 'processes are left');
assert.ok(after.descriptors <= before.descriptors + descriptorsMore, 'descriptors are left');
assert.ok(after.rssBytes - before.rssBytes < rssGrowthMax, 'memory grows');
