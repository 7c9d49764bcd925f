// Installed: 'terminal-runtime-layer/local'.
import { connect } from '../../src/local/index.ts';

await using client = await connect();
await using offer = await client.registerTool({
  name: 'add',
  description: 'Adds two numbers.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  handler: ({ a, b }) => ({ sum: Number(a) + Number(b) }),
});
// Anybody who may call tools calls it now: an agent, a script, trl tool call.
const { result } = await client.call('tool.call', { name: 'add', arguments: { a: 1, b: 2 } });
console.log(result); // { sum: 3 }
await offer.close();
