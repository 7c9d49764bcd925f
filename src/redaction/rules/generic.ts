/**
 * What many providers do alike: a word that says what the token is, an underscore or a dash, and
 * characters drawn at random. So a key of a provider that no table knows is found, too.
 */
import { defineRule, type SecretRule } from './secret-rule.ts';

const words =
  '(live|test|prod|production|sandbox|dev|staging|secret|token|apikey|key|pat|sk|svc|admin|api)';
const short = '(sk|rk|ak|pat|tok|key|api|sec|svc|srv|app|usr|org|int|oat|sat|uat|rt|at|st)';

export const genericRules: readonly SecretRule[] = [
  defineRule('mode-token', `{l2-16}_${words}_{w20-80}`, { score: 0.85 }),
  defineRule('versioned-token', ['{l2-12}_(v1|v2|v3)_{s24-120}', '{l2-12}-(v1|v2|v3)-{s24-120}'], {
    score: 0.85,
  }),
  defineRule(
    'token-word',
    [`(token|apikey|secret|access|auth|bearer)_{w24-80}`, `${short}_{w28-80}`],
    {
      score: 0.8,
    },
  ),
  defineRule('url-credential-hook', ['/webhook/[{s32-80}]', '/webhooks/[{s32-80}]'], {
    score: 0.6,
  }),
];
