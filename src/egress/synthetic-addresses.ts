/**
 * Addresses of a session's own for names: the n-th name gets the n-th address of 198.18.0.0/15,
 * which RFC 2544 reserves for tests and nobody routes. A name keeps its address, and an address is
 * never used for another name.
 */

/** Of the resolver's network device; not given to a name. */
export const ownAddress = '198.18.0.1';
export const syntheticRange = '198.18.0.0/15';
const first = 2;
/** Far below the range's size: nobody looks up so many names but to exhaust something. */
export const namesMax = 16_384;

export class SyntheticAddresses {
  readonly #names: string[] = [];
  readonly #numbers = new Map<string, number>();

  get names(): readonly string[] {
    return this.#names;
  }

  /** `null`: there are no more. */
  addressOf(name: string): { readonly address: string; readonly isNew: boolean } | null {
    const known = this.#numbers.get(name);
    if (known !== undefined) return { address: addressAt(known), isNew: false };
    if (this.#names.length >= namesMax) return null;
    const number = this.#names.push(name) - 1;
    this.#numbers.set(name, number);
    return { address: addressAt(number), isNew: true };
  }

  /** `null`: no name has it. */
  nameOf(address: string): string | null {
    const [, high = 0, low = 0] = (/^198\.1(?:8|9)\.(\d+)\.(\d+)$/.exec(address) ?? []).map(Number);
    const upper = address.startsWith('198.19.') ? 65_536 : 0;
    return this.#names[upper + high * 256 + low - first] ?? null;
  }
}

function addressAt(number: number): string {
  const at = number + first;
  return `198.${18 + (at >> 16)}.${(at >> 8) & 255}.${at & 255}`;
}
