/** Reads what a policy file grants of variables that a command requests by name. Pure. */
import { isInjectionName } from '../../variable-names.ts';
import type { FileProblem } from '../../yaml/file-error.ts';
import type { YamlTree } from '../../yaml/tree.ts';
import type { GrantRules, VariableGrants, PolicyLayerKind } from '../policy.ts';
import type { PolicyDocument } from './schema.ts';

type RulesText = PolicyDocument['secrets'];

const rulesOf = ({
  allow = [],
  ask = [],
  block = [],
}: NonNullable<RulesText> = {}): GrantRules => ({
  allow,
  ask,
  block,
});

/** `null`: the file does not mention them. */
export function readVariableGrants({
  secrets,
  environment,
}: PolicyDocument): VariableGrants | null {
  if (secrets === undefined && environment?.grants === undefined) return null;
  return { secrets: rulesOf(secrets), environment: rulesOf(environment?.grants) };
}

/** Joins the grants of several files of one author. */
export function joinVariableGrants(all: readonly VariableGrants[]): VariableGrants {
  const join = (of: (one: VariableGrants) => GrantRules): GrantRules => ({
    allow: all.flatMap((one) => of(one).allow),
    ask: all.flatMap((one) => of(one).ask),
    block: all.flatMap((one) => of(one).block),
  });
  return { secrets: join(({ secrets }) => secrets), environment: join((one) => one.environment) };
}

/** Allow lists that are forbidden or have no effect. */
export function grantProblems(
  text: PolicyDocument,
  tree: YamlTree,
  kind: PolicyLayerKind,
): FileProblem[] {
  const places = [
    { at: ['secrets', 'allow'], allow: text.secrets?.allow },
    { at: ['environment', 'grants', 'allow'], allow: text.environment?.grants?.allow },
  ];
  const hasBase = text.base !== undefined || text.extends !== undefined;
  return places.flatMap(({ at, allow }): FileProblem[] => {
    if (allow === undefined || allow.length === 0) return [];
    if (kind === 'project') {
      const message = "a project's file may only tighten: it may ask or block, not allow";
      return [tree.problemAtKey(at, message)];
    }
    if (kind === 'managed' && !hasBase) {
      return [tree.problemAtKey(at, '"allow" has no effect in a managed file without "base"')];
    }
    const useless = at[0] === 'secrets' ? allow.findIndex(isInjectionName) : -1;
    const message = 'no secret is called so: programs run what this variable says';
    return useless === -1 ? [] : [tree.problem([...at, useless], message)];
  });
}
