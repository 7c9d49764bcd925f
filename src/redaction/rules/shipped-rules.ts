/** The rules that come with the program. */
import { aiRules } from './ai.ts';
import { cloudRules } from './cloud.ts';
import { codeRules } from './code.ts';
import { genericRules } from './generic.ts';
import { identityRules } from './identity.ts';
import { keyRules } from './keys.ts';
import { messagingRules } from './messaging.ts';
import { monitoringRules } from './monitoring.ts';
import { paymentRules } from './payment.ts';
import { providerRules } from './providers.ts';
import { regionalRules } from './regional.ts';
import type { SecretRule } from './secret-rule.ts';

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
