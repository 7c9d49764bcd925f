/**
 * Which requests of a host a rule means: methods before its name, a path behind it.
 *
 *   GET|HEAD api.example.com            these methods
 *   api.example.com/repos/acme          that path, and every path below it
 */

/** Part of a host rule; both `null`: every request, and what is no HTTP, too. */
export interface RequestRule {
  /** In the order of the alphabet. */
  readonly methods: readonly string[] | null;
  /** Without its final `/`: `/repos/acme`. */
  readonly path: string | null;
}

export interface HttpRequest {
  readonly method: string;
  /** As it was sent, from its first `/`, with its query. */
  readonly target: string;
}

const methodPattern = /^[A-Z]{3,16}$/;
const pathPattern = /^(?:\/[A-Za-z0-9._~!$&'()*+,=:@-]+)+\/?$/;
const pathLengthMax = 512;

/** @returns `null` for texts that are no rule. Empty texts: none is said. */
export function parseRequestRule(methods: string, path: string): RequestRule | null {
  const names = methods === '' ? [] : [...new Set(methods.split('|'))].toSorted();
  if (!names.every((name) => methodPattern.test(name))) return null;
  const isEvery = path === '' || path === '/';
  const segments = path.split('/');
  if (!isEvery && (!pathPattern.test(path) || segments.some((one) => /^\.\.?$/.test(one)))) {
    return null;
  }
  if (path.length > pathLengthMax) return null;
  return {
    methods: names.length === 0 ? null : names,
    path: isEvery ? null : path.replace(/\/$/, ''),
  };
}

export const isEveryRequest = ({ methods, path }: RequestRule): boolean =>
  methods === null && path === null;

/** Whether every request that `inner` means is one that `outer` means. */
export function coversRequests(outer: RequestRule, inner: RequestRule): boolean {
  const hasMethods =
    outer.methods === null ||
    (inner.methods?.every((one) => outer.methods?.includes(one) === true) ?? false);
  return (
    hasMethods && (outer.path === null || (inner.path !== null && isBelow(inner.path, outer.path)))
  );
}

/**
 * The path of a request as every server reads it; `null`: servers differ. They decode, join and
 * leave segments out in different ways, so that one could be led out of the path of a rule.
 */
export function plainPath(target: string): string | null {
  const [path = ''] = target.split(/[?#]/, 1);
  if (!path.startsWith('/')) return null;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null;
  }
  // An encoded separator, a second encoding, a parameter of a segment.
  const isDoubtful = /%2f|%5c|%25/i.test(path) || /[\\;\p{Cc}]|\/\//u.test(decoded);
  const hasDots = decoded.split('/').some((one) => one === '.' || one === '..');
  return isDoubtful || hasDots ? null : decoded;
}

/** @param path see {@link plainPath} */
export function meansRequest(rule: RequestRule, method: string, path: string): boolean {
  const isMethod = rule.methods?.includes(method) ?? true;
  return isMethod && (rule.path === null || isBelow(path, rule.path));
}

/** As {@link meansRequest} for a rule that denies: some servers read paths without case. */
export function deniesRequest({ methods, path: own }: RequestRule, method: string, path: string) {
  const rule = { methods, path: own?.toLowerCase() ?? null };
  return meansRequest(rule, method, path.toLowerCase());
}

const isBelow = (path: string, above: string): boolean =>
  path === above || path.startsWith(`${above}/`);
