/** Names that tell of what is denied: paths of denied files, their package names, words. */

export interface NameHit {
  /** The path or name that is told. */
  readonly name: string;
  /** `block`: a whole path or a name of the policy. `review`: a part that is distinctive. */
  readonly decision: 'review' | 'block';
  /** Bytes `[from, to)` of what was searched. */
  readonly span: readonly [number, number];
}

export interface NamesGiven {
  /** Denied files, relative to the workspace's root. */
  readonly paths: Iterable<string>;
  /** Names of the policy: words of any form. Found whatever stands between their words. */
  readonly words?: Iterable<string>;
  /** Names of denied packages, of `packageNames`. */
  readonly packages?: Iterable<{ readonly name: string; readonly decision: 'review' | 'block' }>;
  /** Paths that the audience sees already: what they tell is not denied. */
  readonly visible?: Iterable<string>;
}

export class DeniedNames {
  constructor(given: NamesGiven) {
    throw new Error(`not here yet: ${typeof given}`);
  }
  /** Each name once, at its first place; at most 100. */
  find(text: Uint8Array): readonly NameHit[] {
    throw new Error(`not here yet: ${text.length}`);
  }
}

/** Names of its own that a manifest of a package tells: `package.json`, `Cargo.toml` … */
export function packageNames(
  path: string,
  bytes: Uint8Array,
): readonly { readonly name: string; readonly decision: 'review' | 'block' }[] {
  throw new Error(`not here yet: ${path} ${bytes.length}`);
}
