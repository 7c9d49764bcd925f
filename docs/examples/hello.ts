import { connect } from '../../src/client/index.ts'; // installed: 'terminal-runtime-layer'

await using client = await connect({ ephemeral: {} });
await using session = await client.createSession({ working_dir: process.cwd() });
await session.run('export GREETING=hello; cd /tmp');
const receipt = await session.run('echo "$GREETING from $PWD"; cat ~/.ssh/id_ed25519');
process.stdout.write(receipt.stdout); // hello from /tmp
process.stdout.write(receipt.stderr); // cat: …/.ssh/id_ed25519: No such file or directory
console.log(receipt.exit_code, receipt.sandbox.level, receipt.sandbox.network); // 1 full off
for await (const event of session.stream('seq 3')) {
  if (event.type === 'output') process.stdout.write(event.bytes); // 1 2 3, a line each
}
