/**
 * What of a secret's value must be hidden. Of a URL, a connection string or a JSON key file only a
 * part is secret; to hide the rest (a host, `service_account`) would hide ordinary output. Pure.
 */
import { isSecretLikeName } from './name-words.ts';
import { secretLines } from './secret-lines.ts';

/**
 * At least one part; the whole value where nothing in it is known to be public. Of a part of
 * several lines, each line besides that may be printed alone.
 */
export function maskedParts(value: string): readonly string[] {
  const found = (ofUrl(value) ?? ofJson(value) ?? ofFields(value) ?? []).filter(Boolean);
  const parts = found.length === 0 ? [value] : found;
  return [...new Set(parts.flatMap((part) => [part, ...secretLines(part)]))];
}

/** Whether a name in the value itself says that it holds a secret: `AccountKey=…`, `?sig=…`. */
export function hasNamedSecret(value: string): boolean {
  const named = [
    ...(ofJson(value) ?? []),
    ...(ofFields(value) ?? []),
    ...(/^[a-z][a-z0-9+.-]{0,30}:\/\/\S+$/i.test(value) ? parametersOf(value) : []),
  ];
  return named.some((part) => /(?:\w\W*){6}/.test(part.slice(0, shownMax)));
}

/** Characters in which a secret shows that it is long enough to be masked. */
const shownMax = 256;

/** Placeholders for a password where the user's name is the secret. */
const noPasswords: ReadonlySet<string> = new Set(['x', 'x-oauth-basic', 'x-token-auth', 'oauth2']);
/** Of a path, query or user name: long and with a digit in it, as keys are and words are not. */
const keyLike = /^(?=.*\d)[\w.~%+=-]{16,}$/;

/** Its secret parts, as they stand and decoded; `null`: it is no URL. */
function ofUrl(value: string): string[] | null {
  const form =
    /^[a-z][a-z0-9+.-]{0,30}:\/\/(?:([^\s/@:]*)(?::([^\s/]+))?@)?[^\s/?#]*((?:[/?#]\S*)?)$/i;
  const found = form.exec(value);
  if (found === null) return null;
  const [, user = '', password = '', rest = ''] = found;
  const secrets: string[] = [];
  if (keyLike.test(user)) secrets.push(user);
  if (password !== '' && !(secrets.length > 0 && noPasswords.has(password))) {
    secrets.push(password);
  }
  secrets.push(...parametersOf(rest, (given) => keyLike.test(given)));
  const [path = ''] = rest.split(/[?#]/);
  secrets.push(...path.split('/').filter((segment) => keyLike.test(segment)));
  return secrets.flatMap((secret) => [secret, decoded(secret)]);
}

/** Names of signatures in URLs that anyone who has them can use. */
const signatureName = /^(?:sig|signature|x-(?:amz|goog|oss|cos|ms)-(?:signature|security-token))$/i;

/** Values of parameters whose names say that they are secret, and those that look like keys. */
function parametersOf(text: string, isKey: (given: string) => boolean = () => false): string[] {
  const pairs = [...text.matchAll(/[?&;]([^=?&;#]+)=([^&;#]+)/g)];
  return pairs.flatMap(([, name = '', given = '']) =>
    isSecretLikeName(name) || signatureName.test(name) || isKey(given) ? [given] : [],
  );
}

/** Strings under secret names, such as `private_key`; `null`: no JSON, or none in it. */
function ofJson(value: string): string[] | null {
  if (!/^\s*[[{]/.test(value)) return null;
  try {
    const found: string[] = [];
    // The reviver sees every pair once, and nothing needs to recurse here.
    JSON.parse(value, (key, inner: unknown) => {
      if (typeof inner === 'string' && isSecretLikeName(key)) found.push(inner);
      return inner;
    });
    return found;
  } catch {
    return null;
  }
}

/** `Server=db;User Id=app;Password=…`; `null`: no such list, or no secret in it. */
function ofFields(value: string): string[] | null {
  if (/\n/.test(value) || !/^[\w .-]+=[^;]*;/.test(value)) return null;
  return value.split(';').flatMap((field) => {
    const at = field.indexOf('=');
    return at > 0 && isSecretLikeName(field.slice(0, at).trim())
      ? [field.slice(at + 1).trim()]
      : [];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
