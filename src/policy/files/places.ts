/** Where policy files lie. Apart from what reads them, which most starts need not load. */
import { systemDirectory } from '../../yaml/places.ts';

export { configDirectory } from '../../yaml/places.ts';
export const managedFile = `${systemDirectory}/policy.yaml`;
/** At the root of a workspace. */
export const projectFileName = '.trl.yaml';
/** In {@link configDirectory}. */
export const userFileName = 'policy.yaml';
export const trustFileName = 'trusted.json';
