/** Policies for publishing: what must not be published to which audience. Pure. */

/** What happens to output of a command that could read denied content, mildest first. */
export const interferenceActions = ['pass', 'review', 'block'] as const;
export type InterferenceAction = (typeof interferenceActions)[number];

/** The default audience. It always exists. */
export const defaultAudience = 'public';

/** The rules for one audience. */
export interface AudienceRules {
  readonly name: string;
  /** Path rules as in `files.deny`, which hold for every audience besides. */
  readonly deny: readonly string[];
  /**
   * Path rules of what the audience already has: a path must match each list. Without a list: all
   * that is not denied.
   */
  readonly sees: readonly (readonly string[])[];
  /** Words that must not be published, in any spelling of their spaces and letters. */
  readonly names: readonly string[];
  readonly interference: InterferenceAction;
}

export interface PublicationRules {
  readonly audiences: readonly AudienceRules[];
  /** Canary texts, planted where nobody should read. They apply to every audience. */
  readonly canaries: readonly string[];
}

/** What one file specifies. */
export interface PublicationLayer extends PublicationRules {
  /** Whether audiences exist because it names them; a project's file only adds to what is there. */
  readonly introduces: boolean;
}

export const defaultPublicationRules: PublicationRules = {
  audiences: [{ name: defaultAudience, deny: [], sees: [], names: [], interference: 'pass' }],
  canaries: [],
};

/** Denials are united, visible paths must match every layer, the strictest action applies. */
export function joinPublication(all: readonly PublicationLayer[]): PublicationRules {
  const introduced = all.filter(({ introduces }) => introduces);
  const names = new Set([
    defaultAudience,
    ...introduced.flatMap(({ audiences }) => audiences.map(({ name }) => name)),
  ]);
  const given = all.flatMap(({ audiences }) => audiences);
  return {
    audiences: [...names].map((name) => joined(name, given)),
    canaries: unique(all.flatMap(({ canaries }) => canaries)),
  };
}

function joined(name: string, given: readonly AudienceRules[]): AudienceRules {
  const rules = given.filter((one) => one.name === name);
  const answers = rules.map(({ interference }) => interference);
  return {
    name,
    deny: unique(rules.flatMap(({ deny }) => deny)),
    sees: rules.flatMap(({ sees }) => sees),
    names: unique(rules.flatMap(({ names }) => names)),
    interference: interferenceActions.findLast((one) => answers.includes(one)) ?? 'pass',
  };
}

const unique = (texts: readonly string[]): string[] => [...new Set(texts)];

/**
 * What must not reach an audience; `null`: the policy knows no audience of this name.
 *
 * @param name default {@link defaultAudience}
 */
export function findAudience(
  policy: {
    readonly publication: PublicationRules;
    readonly files: { readonly deny: readonly string[] };
  },
  name: string = defaultAudience,
): AudienceRules | null {
  const found = policy.publication.audiences.find((one) => one.name === name);
  if (found === undefined) return null;
  return { ...found, deny: unique([...policy.files.deny, ...found.deny]) };
}
