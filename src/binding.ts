/** What a person's yes binds of the files that a command may run: words that all parts share. */

/** What a content is to a command; `file` and `directory` are what its words may name. */
export const contentRoles = [
  'executable',
  'script',
  'package-script',
  'file',
  'directory',
] as const;
export type ContentRole = (typeof contentRoles)[number];

/** What an approval binds besides the files that a command names. */
export type Binding =
  /** It runs no other files. */
  | { readonly kind: 'named' }
  /** All files of the workspace are bound as they are; SHA-256 (hex) of their state. */
  | {
      readonly kind: 'workspace';
      readonly sha256: string;
      readonly entries: number;
      readonly why: string;
    }
  | { readonly kind: 'unbound'; readonly why: string };
