/**
 * What explains a token that is no secret. `certain`: the text says so itself, by its form or a
 * label beside it. `usual`: the form is that of a hash or an identifier, which a key may have, too;
 * a name such as `API_TOKEN` beside it weighs more.
 */
export const benignFamilies = {
  placeholder: 'certain',
  reference: 'certain',
  hidden: 'certain',
  'git-object': 'certain',
  'git-line': 'certain',
  'digest-labelled': 'certain',
  'digest-list': 'certain',
  'digest-prefixed': 'certain',
  integrity: 'certain',
  'go-sum': 'certain',
  'header-id': 'certain',
  'labelled-id': 'certain',
  arn: 'certain',
  'cloud-id': 'certain',
  'content-id': 'certain',
  package: 'certain',
  'mangled-symbol': 'certain',
  'symbol-line': 'certain',
  'hex-dump': 'certain',
  'byte-list': 'certain',
  certificate: 'certain',
  'public-key': 'certain',
  'key-fingerprint': 'certain',
  'source-map': 'certain',
  'data-uri': 'certain',
  'media-bytes': 'certain',
  'hashed-file-name': 'certain',
  'pod-name': 'certain',
  'path-hash': 'certain',
  'stack-frame': 'certain',
  'cpu-flags': 'certain',
  'terminal-codes': 'certain',
  version: 'certain',
  timestamp: 'certain',
  'ip-address': 'certain',
  'mac-address': 'certain',
  number: 'certain',
  address: 'certain',
  url: 'usual',
  path: 'usual',
  identifier: 'usual',
  uuid: 'usual',
  ulid: 'usual',
  'sortable-id': 'usual',
  'hex-digest': 'usual',
  'hex-id': 'usual',
  'base64-line': 'usual',
  'base64-tail': 'usual',
  'compound-key': 'usual',
} as const satisfies Record<string, 'certain' | 'usual'>;

export type BenignFamily = keyof typeof benignFamilies;

export function strengthOf(family: BenignFamily): 'certain' | 'usual' {
  return benignFamilies[family];
}
