/**
 * The rules that come with the program.
 *
 * The generic ones cover what many providers have in common: a word for the kind of token, an
 * underscore or a dash, and random characters. So a key of an unlisted provider is found, too.
 */
import { aiRules } from './ai.ts';
import { cloudRules, regionalRules } from './cloud.ts';
import { codeRules } from './code.ts';
import { identityRules } from './identity.ts';
import { keyRules } from './keys.ts';
import { messagingRules } from './messaging.ts';
import { monitoringRules } from './monitoring.ts';
import { paymentRules } from './payment.ts';
import { providerRules } from './providers.ts';
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

export const shippedRules: readonly SecretRule[] = [
  ...cloudRules,
  ...codeRules,
  ...paymentRules,
  ...aiRules,
  ...messagingRules,
  ...monitoringRules,
  ...identityRules,
  ...keyRules,
  ...regionalRules,
  ...genericRules,
  ...providerRules,
];
