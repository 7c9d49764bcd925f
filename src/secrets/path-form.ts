/**
 * Whether a text is a path and not a key that looks like one: of the keys in base64, one in 64
 * begins with `/`, and most have another in them. Pure; nothing is looked up.
 */

/** First directories of paths as they are on Linux, macOS and in containers. */
const roots: ReadonlySet<string> = new Set(
  [
    'Applications Library System Users Volumes app apps bin boot build builds cache certs code',
    'config configs credentials data dev etc home keys lib lib64 lost+found media mnt nix opt',
    'private proc project projects root run sbin secret secrets snap src srv sys tmp usr var',
    'workdir workspace workspaces',
  ].flatMap((line) => line.split(' ')),
);
const pathMax = 4_096;

/** `/run/secrets/x`, `~/.ssh/id`, `./key`; not one long part, and nothing like a drawn one. */
export function isPathText(text: string): boolean {
  if (text.length > pathMax) return false;
  const found = /^(~[\w.-]{0,64}|\.{0,2})\/([\w./+@~-]*)$/.exec(text);
  if (found === null) return false;
  const [, start = '', rest = ''] = found;
  const parts = rest.split('/').filter((part) => part !== '');
  const [first] = parts;
  // What has too few letters for a secret, such as `/` or `/opt`, is none in any case.
  if (first === undefined || rest.replaceAll(/\W/g, '').length < 6) return true;
  if (start === '' && parts.length === 1) return roots.has(first);
  if (start === '' && roots.has(first)) return true;
  return parts.every(isOrdinary);
}

/** A part as people name files: words, with a number behind each. */
function isOrdinary(part: string): boolean {
  if (part.includes('+')) return false;
  return part.split(/[._@~-]+/).every((word) => wordForm.test(word));
}

/** Each of its alternatives begins with another kind of letter: nothing is tried twice. */
const wordForm = /^(?:[a-z]{1,24}|[A-Z][a-z]{1,23}(?:[A-Z][a-z]{1,23}){0,3}|[A-Z]{2,24})?\d{0,8}$/;
