/** Where policy files lie. Apart from what reads them, which most starts need not load. */
import { systemConfigDirectory } from '../../yaml/config-directories.ts';

export { configDirectory } from '../../yaml/config-directories.ts';
export const managedPolicyFile = `${systemConfigDirectory}/policy.yaml`;
/** At the root of a workspace. */
export const projectPolicyFileName = '.trl.yaml';
/** In {@link configDirectory}. */
export const userPolicyFileName = 'policy.yaml';
export const trustRecordFileName = 'trusted.json';
