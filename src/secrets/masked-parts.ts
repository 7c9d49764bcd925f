/**
 * What of a secret's value must be hidden. Of a URL, a connection string or a JSON key file only a
 * part is secret; to hide the rest (a host, `service_account`) would hide ordinary output. Pure.
 */
import { isSecretName } from './secret-name.ts';

/** At least one part; the whole value where nothing in it is known to be public. */
export function maskedParts(value: string): readonly string[] {
  const found = ofUrl(value) ?? ofJson(value) ?? ofFields(value);
  const parts = new Set((found ?? []).filter((part) => part !== ''));
  return parts.size === 0 ? [value] : [...parts];
}

/** What stands in the place of a password where the user's name is the secret. */
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
  for (const [, name = '', given = ''] of rest.matchAll(/[?&;]([^=?&;#]+)=([^&;#]+)/g)) {
    if (isSecretName(name) || keyLike.test(given)) secrets.push(given);
  }
  const [path = ''] = rest.split(/[?#]/);
  secrets.push(...path.split('/').filter((segment) => keyLike.test(segment)));
  return secrets.flatMap((secret) => [secret, decoded(secret)]);
}

/** Strings under secret names, such as `private_key`; `null`: no JSON, or none in it. */
function ofJson(value: string): string[] | null {
  if (!/^\s*[[{]/.test(value)) return null;
  try {
    const found: string[] = [];
    // The reviver sees every pair once, and nothing needs to recurse here.
    JSON.parse(value, (key, inner: unknown) => {
      if (typeof inner === 'string' && isSecretName(key)) found.push(inner);
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
    return at > 0 && isSecretName(field.slice(0, at).trim()) ? [field.slice(at + 1).trim()] : [];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
