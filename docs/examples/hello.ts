// Installed: 'terminal-runtime-layer' and 'terminal-runtime-layer/local'.
import { isTrlError } from '../../src/client/index.ts';
import { connect } from '../../src/local/index.ts';

await using client = await connect({ ephemeral: {} });
await using session = await client.createSession({ working_dir: process.cwd() });
await session.run('export GREETING=hello; cd /tmp');
const receipt = await session.run('echo "$GREETING from $PWD"; ls ~/.ssh');
process.stdout.write(receipt.stdout); // hello from /tmp
process.stdout.write(receipt.stderr); // ls: cannot access '…/.ssh': No such file or directory
console.log(receipt.exit_code, receipt.sandbox.level, receipt.sandbox.network); // 2 full off
for await (const event of session.stream('seq 3')) {
  if (event.type === 'output') process.stdout.write(event.bytes); // 1 2 3, a line each
}
try {
  await session.run('nice git push --force');
} catch (error) {
  if (!isTrlError(error, 'POLICY_DENIED')) throw error;
  console.log(error.message); // Cannot run the command: "git push --force" publishes commits …
}
