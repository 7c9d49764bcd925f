// npm run prove: what the costliest texts cost, of every hostile shape and of changed fixtures.
import {
  costOf,
  hostileInput,
  mutant,
  shapes,
  sizes,
  table,
  warmUp,
  type Cost,
} from '../support/policy-ceiling.ts';

const full = process.env['TRL_PROVE'] === 'full';
const seed = Number(process.env['TRL_SEED'] ?? Date.now() % 2 ** 31);
const tries = full ? 3 : 1;
const mutants = full ? 600 : 40;
const [ceilingMs, memoryMax] = [50, 200 * 2 ** 20];

await warmUp();
const costs: Cost[] = [];
for (const shape of shapes) {
  for (const size of sizes) costs.push(await costOf(hostileInput(shape, size), tries));
}
for (let index = 0; index < mutants; index += 1) {
  const size = sizes[index % sizes.length] ?? sizes[0];
  costs.push(await costOf(mutant(seed + index, size), tries));
}
say(`${shapes.length} shapes in ${sizes.length} sizes, ${mutants} mutants, TRL_SEED=${seed}`);
say(table(costs, 20));
say('\ngrowth, as the power of the size, where a decision takes over 1 ms:');
for (const [at, size] of sizes.slice(1).entries()) say(`  to ${size}: ${steepest(at)}`);

// The least of three tries: what a busy machine adds is no cost of the text.
const over = full ? costs.filter(({ cpuMs }) => cpuMs > ceilingMs) : [];
const fat = costs.filter(({ grownBytes }) => grownBytes > memoryMax);
say(`\nover ${ceilingMs} ms of CPU time: ${over.length}; over 200 MiB: ${fat.length}`);
process.exitCode = over.length + fat.length > 0 ? 1 : 0;

/** The three steepest shapes between a size and the next one. */
function steepest(at: number): string {
  const factor = (sizes[at + 1] ?? 1) / (sizes[at] ?? 1);
  return shapes
    .map(({ shell, name }, shape) => {
      const of = (step: number): number => costs[shape * sizes.length + step]?.cpuMs ?? 0;
      const small = Math.max(of(at), 0.2);
      const power = of(at + 1) < 1 ? 0 : Math.log(of(at + 1) / small) / Math.log(factor);
      return { label: `${shell} ${name}`, power };
    })
    .toSorted((one, other) => other.power - one.power)
    .slice(0, 3)
    .map(({ label, power }) => `${label} ${power.toFixed(2)}`)
    .join(', ');
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
