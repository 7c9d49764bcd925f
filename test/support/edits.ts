/** Small edits of a text, drawn by chance: the borders of what is read lie between them. */

const signs = Array.from(' \t\n"\'`=:;,.-_/\\()[]{}<>|&%$#@!?*+~^0189aAfFzZxX');

/** One to three edits; `others`: texts that a part may come from. */
export function edited(text: string, random: () => number, others: readonly string[]): string {
  const below = (count: number): number => Math.floor(random() * count);
  const sign = (): string => signs[below(signs.length)] ?? '';
  const part = (of: string): string => {
    const from = below(of.length);
    return of.slice(from, from + 1 + below(12));
  };
  const edit = (now: string): string => {
    const at = below(now.length + 1);
    const [before, after] = [now.slice(0, at), now.slice(at)];
    switch (below(9)) {
      case 0:
        return before + after.slice(1);
      case 1:
        return before + sign() + after.slice(1);
      case 2:
        return before + sign() + after;
      case 3:
        return before + after.slice(0, 1) + after;
      case 4:
        return before + after.slice(1 + below(8));
      case 5:
        return before + part(others[below(others.length)] ?? '') + after;
      case 6:
        return before + after.slice(0, 6).toUpperCase() + after.slice(6);
      case 7:
        return before + sign().repeat(2 + below(40)) + after;
      default:
        return before + part(now) + after;
    }
  };
  let now = text;
  for (let left = 1 + below(3); left > 0; left -= 1) now = edit(now);
  return now;
}
