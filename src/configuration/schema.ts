/** The form of `config.yaml`. */
import { isAddressAndPort, normalHostName, parseHostRule } from '../network/host-rules.ts';
import { parseProxyUrl, proxyWords } from '../network/upstream-proxy.ts';
import * as z from 'zod/mini';
import { limits, runtimeBounds } from '../limits.ts';
import { envModes } from '../variable-names.ts';
import { schemaKeysAt } from '../yaml/schema-problems.ts';
import { configurableRedactionProfiles } from './configuration.ts';

const namesMax = 1_000;
const sourcesMax = 256;
const patternsMax = 100;
const argumentsMax = 64;
const textLengthMax = 1_000;
const shannonMax = 8;
const timeoutMsMax = 600_000;
const recipientsMax = 16;
const cacheMsMax = 86_400_000;

const text = () => z.string().check(z.minLength(1), z.maxLength(textLengthMax));
const variable = () =>
  z.string().check(
    z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}$/, {
      error: 'must be the name of a variable: letters, digits and "_"',
    }),
  );
const pattern = () =>
  z.string().check(
    z.regex(/^[A-Za-z_][A-Za-z0-9_]{0,254}\*?$/, {
      error: 'must be the name of a variable; a final "*" matches any suffix',
    }),
  );
const between = (least: number, most: number) =>
  z
    .number({ error: `must be a number from ${least} to ${most}` })
    .check(
      z.minimum(least, { error: `must be a number from ${least} to ${most}` }),
      z.maximum(most, { error: `must be a number from ${least} to ${most}` }),
    );
const milliseconds = (least: number, most: number) => {
  const error = `must be a whole number of milliseconds from ${least} to ${most}`;
  return z.int({ error }).check(z.minimum(least, { error }), z.maximum(most, { error }));
};

const bound = (name: keyof typeof runtimeBounds) => {
  const most = limits[name].max ?? Number.MAX_SAFE_INTEGER;
  const error = `must be a whole number from 1 to ${most}`;
  return z.int({ error }).check(z.minimum(1, { error }), z.maximum(most, { error }));
};

const connect = z
  .record(
    z
      .string()
      .check(
        z.refine((name) => normalHostName(name) !== null, { error: 'must be the name of a host' }),
      ),
    z.string().check(
      z.refine(isAddressAndPort, {
        error: 'must be an address and a port, such as "10.0.0.5:8443" or "[fd00::5]:8443"',
      }),
    ),
  )
  .check(z.refine((all) => Object.keys(all).length <= namesMax));

const kinds = 'environment, dotenv, keyring, systemd or command';
const source = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({ kind: z.literal('environment') }),
    z.strictObject({ kind: z.literal('dotenv'), path: text() }),
    z.strictObject({
      kind: z.literal('keyring'),
      name: z.optional(variable()),
      service: z.optional(text()),
    }),
    z.strictObject({ kind: z.literal('systemd'), path: z.optional(text()) }),
    z.strictObject({
      kind: z.literal('command'),
      name: variable(),
      argv: z.array(text()).check(z.minLength(1), z.maxLength(argumentsMax)),
      timeout_ms: z.optional(milliseconds(1, timeoutMsMax)),
      cache_ms: z.optional(milliseconds(0, cacheMsMax)),
    }),
  ],
  { error: `must be ${kinds}` },
);

const placesMax = 32;
const hostRule = z.string({ error: 'must be the rule of a host' }).check(
  z.refine((rule) => parseHostRule(rule) !== null, {
    error: 'must be a host such as "api.example.com" or "*.example.com:8443"',
  }),
);
const headerName = z
  .string()
  .check(z.regex(/^[A-Za-z0-9-]{1,64}$/, { error: 'must be the name of a header' }));
const places = () => z.exactOptional(z.array(text()).check(z.maxLength(placesMax)));
const broker = z.strictObject({
  hosts: z.exactOptional(z.array(hostRule).check(z.minLength(1), z.maxLength(placesMax))),
  headers: z.exactOptional(z.array(headerName).check(z.maxLength(placesMax))),
  query: places(),
  body: places(),
  signs: z.exactOptional(z.enum(['aws4'], { error: 'must be aws4' })),
  plaintext: z.exactOptional(z.literal(true, { error: 'must be true, or left out' })),
});

const credentialFile = z.strictObject({
  path: text(),
  hosts: z.array(hostRule).check(z.minLength(1), z.maxLength(placesMax)),
  plaintext: z.exactOptional(z.literal(true, { error: 'must be true, or left out' })),
});

const ownPattern = z.strictObject({
  id: z.string().check(
    z.regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, {
      error: 'must be lower-case letters, digits, ".", "_" and "-", such as "corp-token"',
    }),
  ),
  pattern: text(),
  keywords: z.optional(z.array(text()).check(z.maxLength(argumentsMax))),
});

const cachesMax = 32;
/** No part of it is empty, "." or "..". */
const cacheName = z.string({ error: 'must be a directory, relative to HOME' }).check(
  z.regex(/^(?:(?!\.{1,2}(?:\/|$))[^/\0]+(?:\/(?!$)|$))+$/, {
    error: 'must be a directory below HOME, such as .bun, without ".."',
  }),
);

export const configurationSchema = z.strictObject({
  terminal: z.optional(z.strictObject({ env_mode: z.optional(z.enum(envModes)) })),
  environment: z.optional(
    z.strictObject({ withhold: z.optional(z.array(pattern()).check(z.maxLength(namesMax))) }),
  ),
  secrets: z.optional(
    z.strictObject({
      names: z.optional(z.array(variable()).check(z.maxLength(namesMax))),
      sources: z.optional(z.array(source).check(z.maxLength(sourcesMax))),
      brokered: z.optional(z.record(variable(), broker)),
      files: z.optional(z.array(credentialFile).check(z.maxLength(sourcesMax))),
    }),
  ),
  redaction: z.optional(
    z.strictObject({
      profile: z.optional(z.enum(configurableRedactionProfiles)),
      thresholds: z.optional(
        z.strictObject({
          score: z.optional(between(0, 1)),
          shannon: z.optional(between(0, shannonMax)),
          bigram: z.optional(between(-20, 20)),
        }),
      ),
      patterns: z.optional(z.array(ownPattern).check(z.maxLength(patternsMax))),
    }),
  ),
  limits: z.optional(
    z.strictObject({
      [runtimeBounds.sessionsActive.key]: z.optional(bound('sessionsActive')),
      [runtimeBounds.sessionRecords.key]: z.optional(bound('sessionRecords')),
      [runtimeBounds.commandsConcurrent.key]: z.optional(bound('commandsConcurrent')),
      [runtimeBounds.sessionIdleMs.key]: z.optional(bound('sessionIdleMs')),
      [runtimeBounds.sessionGoneMs.key]: z.optional(bound('sessionGoneMs')),
    }),
  ),
  home: z.optional(
    z.strictObject({
      caches: z.optional(z.array(cacheName).check(z.maxLength(cachesMax))),
    }),
  ),
  network: z.optional(
    z.strictObject({
      connect: z.optional(connect),
      roots: z.optional(z.array(text()).check(z.maxLength(placesMax))),
      proxy: z.optional(
        z.string().check(
          z.refine((word) => proxyWords.includes(word) || parseProxyUrl(word) !== null, {
            error: 'must be environment, none, or a URL such as "http://proxy.example.com:3128"',
          }),
        ),
      ),
    }),
  ),
  audit: z.optional(
    z.strictObject({
      required: z.optional(z.boolean({ error: 'must be true or false' })),
      recipients: z.optional(z.array(text()).check(z.maxLength(recipientsMax))),
    }),
  ),
});

export type ConfigurationDocument = z.infer<typeof configurationSchema>;

let jsonSchema: Readonly<Record<string, unknown>> | null = null;

/** The keys that the mapping at `path` may have; empty where there is no mapping. */
export function configurationKeysAt(path: readonly (string | number)[]): readonly string[] {
  jsonSchema ??= { ...z.toJSONSchema(configurationSchema, { io: 'input', target: 'draft-7' }) };
  return schemaKeysAt(jsonSchema, path);
}
