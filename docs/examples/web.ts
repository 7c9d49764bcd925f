// Installed: 'terminal-runtime-layer'.
import { connect } from '../../src/client/index.ts';

const { TRL_URL: url = 'http://127.0.0.1:7070', TRL_AUTH_TOKEN: token = '' } = process.env;
const client = await connect({ url, token });
const session = await client.createSession();
const receipt = await session.run('echo hello');
console.log(receipt.exit_code, receipt.stdout.trim()); // 0 hello
for await (const event of session.stream('seq 3')) {
  if (event.type === 'output') process.stdout.write(event.bytes); // 1 2 3, a line each
}
const stop = new AbortController();
for await (const event of client.watch(stop.signal)) {
  console.log(event.kind); // session
  break; // The present state came first; each change would follow.
}
await session.destroy();
await client.close();
