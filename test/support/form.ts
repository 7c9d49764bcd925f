/** The long form of a test runs in `npm run prove`; `npm test` runs a part of its cases. */
export const isFull = process.env['TRL_PROVE'] === 'full';

/** How many rounds of random cases there are. */
export const rounds = (short: number, long: number): number => (isFull ? long : short);
