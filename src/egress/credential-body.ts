/** Placeholders in bodies: outermost fields of JSON and of forms, by name. */
import type { BrokeredCredential } from '../network-access.ts';

export interface ReplacedBody {
  readonly body: Buffer;
  /** Names of the secrets that are in it now. */
  readonly secrets: readonly string[];
  /** The body without the placeholders that may be there. */
  readonly rest: string;
}

export function replaceInBody(
  body: Buffer,
  credentials: readonly BrokeredCredential[],
  contentType: string,
): ReplacedBody {
  const text = body.toString('utf8');
  const isForm = contentType.startsWith('application/x-www-form-urlencoded');
  const fields = isForm ? formFields(text) : jsonFields(text);
  let [changed, rest] = [text, text];
  const secrets: string[] = [];
  for (const credential of credentials) {
    const { name, placeholder, value } = credential;
    const found = fields.filter((field) => field.value === placeholder);
    // Its text is looked for, so it may be in these fields alone.
    const isNamed =
      found.length > 0 && found.every((field) => credential.body.includes(field.name));
    if (!isNamed || changed.split(placeholder).length - 1 !== found.length) continue;
    const written = isForm ? encodeURIComponent(value) : JSON.stringify(value).slice(1, -1);
    changed = changed.replaceAll(placeholder, () => written);
    rest = rest.replaceAll(placeholder, ' ');
    secrets.push(name);
  }
  if (secrets.length === 0) return { body, secrets, rest: body.toString('latin1') };
  return { body: Buffer.from(changed, 'utf8'), secrets, rest };
}

interface Field {
  readonly name: string;
  readonly value: string;
}

const formFields = (text: string): readonly Field[] =>
  Array.from(new URLSearchParams(text), ([name, value]) => ({ name, value }));

function jsonFields(text: string): readonly Field[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return [];
  }
  return Object.entries(Object(parsed)).flatMap(([name, value]) =>
    typeof value === 'string' ? [{ name, value }] : [],
  );
}
