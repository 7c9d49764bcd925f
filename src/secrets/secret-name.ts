/**
 * Which variables of an environment are secrets: by what their names say, by values whose form says
 * it whatever the name, and not where the value cannot be one. Pure.
 */
import { hasNamedSecret } from './masked-parts.ts';
import { isSecretLikeName, mayBeNumericSecret } from './name-words.ts';
import { isPathText } from './path-form.ts';

export { isSecretLikeName } from './name-words.ts';

/** What no secret looks like: nothing, a switch, a number that is too short to be masked. */
const plainValue = /^(?:|true|false|yes|no|on|off|none|null|undefined|\d{1,5})$/i;
/** What is a number rather than a key, unless the name wants digits. */
const plainNumber = /^\d{6,9}$/;

/** Keys whose form is known to everybody, whatever the variable is called. */
const keyForms: readonly RegExp[] = [
  /^gh[opusr]_\w{30,}/,
  /^github_pat_\w{30,}/,
  /^glpat-[\w-]{18,}/,
  /^xox[abeprs]-[\w-]{10,}/,
  /^(?:sk|rk)_(?:live|test)_\w{16,}/,
  /^sk-[\w-]{20,}/,
  /^npm_[A-Za-z0-9]{30,}/,
  /^AIza[\w-]{30,}/,
  /^(?:hf|dop_v1|pypi|shpat|sq0atp|SG)[_.-][\w.-]{20,}/,
  /^eyJ[\w-]{10,}\.eyJ[\w-]{10,}/,
  /^-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /^AGE-SECRET-KEY-1/,
  /^https:\/\/hooks\.slack\.com\/(?:services|workflows|triggers)\/./,
  /^https:\/\/(?:\w+\.)?discord(?:app)?\.com\/api\/webhooks\/./,
  // A key in the place of a user: `https://ghp_…@github.com`.
  /^[a-z][a-z0-9+.-]{0,30}:\/\/(?=[^\s/@:]*\d)[^\s/@:]{16,256}@/i,
];

/** Whether `name=value` of an environment is a secret. */
export function isSecretVariable(name: string, value: string): boolean {
  if (plainValue.test(value) || isPathText(value)) return false;
  if (plainNumber.test(value)) return mayBeNumericSecret(name);
  return (
    isSecretLikeName(name) ||
    hasPassword(value) ||
    keyForms.some((form) => form.test(value)) ||
    hasNamedSecret(value)
  );
}

/** A URL with a password in it, such as `postgres://app:s3cret@db/app`. */
function hasPassword(value: string): boolean {
  return /^[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/@:]{0,256}:[^\s/@]{1,1024}@/i.test(value);
}
