// Prints what the tools of each set cost a model, by an estimate of four characters a token:
//   tools/node tools/tool-tokens.ts
// Counted is what clients hand to a model: name, description and input schema.
import { isInToolSet, toolSets } from '../src/mcp/tool-sets.ts';
import type { ToolSet } from '../src/mcp/tool-sets.ts';
import { builtinTools } from '../src/tools/index.ts';

const charactersPerToken = 4;

export const tokensOf = (set: ToolSet): ReadonlyMap<string, number> =>
  new Map(
    builtinTools
      .filter(({ name }) => isInToolSet(set, name))
      .map(({ name, description, input }) => {
        const text = JSON.stringify({ name, description, input });
        return [name, Math.ceil(text.length / charactersPerToken)];
      }),
  );

export const totalOf = (tokens: ReadonlyMap<string, number>): number =>
  [...tokens.values()].reduce((all, one) => all + one, 0);

if (import.meta.main) {
  const row = (name: string, tokens: number): string => `${String(tokens).padStart(6)} ${name}`;
  for (const [name, tokens] of tokensOf('all')) console.log(row(name, tokens));
  for (const set of toolSets) console.log(row(set, totalOf(tokensOf(set))));
}
