/** Checks the knowledge base: its shape by the schema, and every rule by its own examples. */
import { z } from 'zod/mini';
import type { Analysis } from '../analysis.ts';
import { analyseShell } from '../analyse.ts';
import { allowRuleSchema, type AllowRule } from './allow-rule.ts';
import { allowRules } from './data/allowed.ts';
import {
  commandTableSchema,
  type CommandTable,
  type CommandNode,
  type KnowledgeRule,
} from './schema.ts';
import { commandKnowledge } from './table.ts';

/** One problem of the knowledge base. */
interface Problem {
  /** The rule: `fs.rm-rf`, `git.status`; or the command whose entry has a wrong shape. */
  readonly rule: string;
  /** The example that fails, or `null` for a wrong shape. */
  readonly example: string | null;
  readonly message: string;
}

/** Runs every example of every rule through the analysis: one line for each that fails. */
export function checkKnowledgeExamples(): readonly string[] {
  return problems().map(({ rule, example, message }) =>
    example === null ? `${rule}: ${message}` : `${rule}: ${message}: ${example}`,
  );
}

function problems(): readonly Problem[] {
  return [
    ...commandKnowledge.flatMap((family) => [...checkShape(family), ...checkFamily(family)]),
    ...allowRules.flatMap(checkAllowed),
  ];
}

function checkShape(family: CommandTable): readonly Problem[] {
  const parsed = z.safeParse(commandTableSchema, family);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => ({
    rule: path.map(String).join('.'),
    example: null,
    message,
  }));
}

function checkFamily(family: CommandTable): readonly Problem[] {
  return Object.values(family).flatMap((node) => checkNode(node));
}

function checkNode(node: CommandNode): readonly Problem[] {
  const own = (node.rules ?? []).flatMap(checkRule);
  return [...own, ...checkFamily(node.subs ?? {})];
}

function checkRule(rule: KnowledgeRule): readonly Problem[] {
  const found = ({ findings }: Analysis): boolean =>
    findings.some(({ code, bound }) => code === rule.code && bound === rule.bound);
  return [
    ...failing(rule.match, (analysis) => found(analysis)).map((example) => ({
      rule: rule.code,
      example,
      message: 'the rule does not find this example',
    })),
    ...failing(rule.noMatch, (analysis) => !found(analysis)).map((example) => ({
      rule: rule.code,
      example,
      message: 'the rule finds this counter-example',
    })),
  ];
}

function checkAllowed(rule: AllowRule): readonly Problem[] {
  const parsed = z.safeParse(allowRuleSchema, rule);
  const shape = parsed.success ? [] : parsed.error.issues.map(({ message }) => message);
  const allows = (analysis: Analysis): boolean => analysis.allowed?.rule === rule.id;
  return [
    ...shape.map((message) => ({ rule: rule.id, example: null, message })),
    ...failing(rule.match, allows).map((example) => ({
      rule: rule.id,
      example,
      message: 'the rule does not allow this example',
    })),
    ...failing(rule.noMatch, (analysis) => !allows(analysis)).map((example) => ({
      rule: rule.id,
      example,
      message: 'the rule allows this counter-example',
    })),
  ];
}

function failing(
  examples: readonly string[],
  holds: (analysis: Analysis) => boolean,
): readonly string[] {
  return examples.filter((example) => !holds(analyseShell(example, 'bash')));
}
