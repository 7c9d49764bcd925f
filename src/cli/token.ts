/**
 * `trl token …`: who may speak to the runtime over HTTP. It changes the file of tokens itself, so
 * no runtime is needed; one that runs takes notice at once.
 */
import { homedir } from 'node:os';
import { Enrolment, enrolmentFiles } from '../approval/enrolment.ts';
import { TrlError, isTrlError } from '../errors.ts';
import { allRoles, needsPerson } from '../identity/token-record.ts';
import type { PersonProof, TokenRecord } from '../identity/token-record.ts';
import { Tokens, tokensFile } from '../identity/tokens.ts';
import { usageError } from './args.ts';
import type { CliArguments } from './args.ts';
import { recordCliAction } from './audit-read.ts';
import { Interrupts, cancellable, readPassphraseFromStdin, withPassphrase } from './interrupts.ts';
import { printAnswer, printJson, printLines, printMessage, printRows } from './print.ts';
import { requireSingleWord } from './session.ts';
import { ControllingTerminal } from './terminal.ts';
import { durationFlagHint, parseDuration } from './units.ts';

const verb = 'token create';

/** The token alone on standard output: it is shown this once. */
export async function runTokenCreate(args: CliArguments): Promise<number> {
  const roles = rolesOf(args);
  const lastsMs = args.read('expires', parseDuration, durationFlagHint);
  if (lastsMs === 0) throw usageError(verb, '"--expires" must be longer than nothing');
  const name = args.text('name') ?? null;
  using interrupts = new Interrupts();
  const { signal } = interrupts;
  return await cancellable(interrupts, 'no token was made', async () => {
    const proof = needsPerson(roles) ? await prove(args, signal) : null;
    const expiresAt = lastsMs === undefined ? null : Date.now() + lastsMs;
    const told = { method: 'token.create', name, roles, proof, expires_at: expiresAt };
    // Who may speak to the runtime is a change of policy: it is on disk before it is one.
    await recordCliAction(verb, { kind: 'call.requested', data: told });
    const made = tokens().create({ name, roles, expiresAt, proof });
    await recordCliAction(verb, { kind: 'call.done', data: { ...told, token_id: made.record.id } });
    sayCreated(args, made);
    return 0;
  });
}

function sayCreated(
  args: CliArguments,
  { record: made, token }: { readonly record: TokenRecord; readonly token: string },
): void {
  if (args.has('json')) printJson({ token, ...viewOf(made) });
  else printLines([token]);
  const until =
    made.expiresAt === null ? 'until it is revoked' : `until ${isoTime(made.expiresAt)}`;
  printMessage(`${made.id} may act as ${made.roles.join(', ')} ${until}; it is not shown again`);
  if (made.proof !== 'same_uid') return;
  printMessage(
    'nothing but your uid proves a person by it: set a passphrase first (trl approvals enroll)',
  );
}

export async function runTokenList(args: CliArguments): Promise<number> {
  const found = tokens()
    .all()
    .filter(({ revokedAt }) => revokedAt === null);
  const rows = found.map((one) => [
    one.id,
    one.name ?? '-',
    one.roles.join(','),
    isoTime(one.createdAt),
    one.expiresAt === null ? 'never' : isoTime(one.expiresAt),
    stateOf(one),
  ]);
  return printRows(
    args,
    { tokens: found.map(viewOf) },
    ['TOKEN', 'NAME', 'ROLES', 'CREATED', 'EXPIRES', 'STATE'],
    rows,
  );
}

export async function runTokenRevoke(args: CliArguments): Promise<number> {
  const named = requireSingleWord(args, 'token revoke');
  const found = tokens().revoke(named);
  const data = { method: 'token.revoke', token_id: found.id, name: found.name, roles: found.roles };
  // Revoking only reduces rights, so it happens even if it cannot be recorded now.
  await recordCliAction('token revoke', { kind: 'call.done', data }).catch((error: unknown) => {
    if (!isTrlError(error)) throw error;
    printMessage(error.message);
  });
  return printAnswer(args, viewOf(found), () =>
    printMessage(`${found.id} is revoked: it is refused from now on, and what it has open ends`),
  );
}

const tokens = (): Tokens => new Tokens(tokensFile(process.env, homedir()));

function rolesOf(args: CliArguments): TokenRecord['roles'] {
  const roles = args.all('role').map((word) => {
    const role = allRoles.find((one) => one === word);
    if (role === undefined) {
      throw usageError(verb, `"--role" must be ${allRoles.join(', ')}, got "${word}"`);
    }
    return role;
  });
  if (roles.length === 0) throw usageError(verb, `name a --role: ${allRoles.join(', ')}`);
  return roles;
}

/**
 * A token with a person's role can say yes: only a person makes one.
 *
 * @throws TrlError `AUTH_FAILED` for a wrong passphrase, and where nobody is enrolled and policy
 *   wants a person proved; Left
 */
async function prove(args: CliArguments, signal: AbortSignal): Promise<PersonProof> {
  const enrolment = new Enrolment(enrolmentFiles(process.env, homedir()));
  if (enrolment.approver() === null) {
    const isGiven = args.has('passphrase-stdin');
    if (isGiven) throw usageError(verb, 'nobody is enrolled: there is none to give');
    if (await isSameUidAllowed()) return 'same_uid';
    const why = 'policy wants the person proved; run: trl approvals enroll';
    throw new TrlError('AUTH_FAILED', `Cannot create the token: ${why}`);
  }
  const verify = async (passphrase: string): Promise<PersonProof> => {
    if (await enrolment.verify(passphrase)) return 'passphrase';
    throw new TrlError('AUTH_FAILED', 'Cannot create the token: the passphrase is wrong');
  };
  if (args.has('passphrase-stdin')) {
    return verify(await readPassphraseFromStdin(verb));
  }
  using terminal = ControllingTerminal.open(
    'create a token of this role without --passphrase-stdin',
  );
  return await withPassphrase(terminal, { prompt: 'Passphrase: ', signal }, verify);
}

/** By the policy that a runtime of this user starts with; one that runs goes by its own. */
async function isSameUidAllowed(): Promise<boolean> {
  const { loadPolicy } = await import('../policy/files/load.ts');
  const { isPolicyBaseName } = await import('../policy/policy.ts');
  const { version } = await import('../protocol/version.ts');
  const chosen = process.env['TRL_POLICY'];
  const choice = chosen && (isPolicyBaseName(chosen) ? { base: chosen } : { file: chosen });
  const policy = loadPolicy({
    fallback: 'auto',
    version: version(),
    ...(choice ? { chosen: choice } : {}),
  });
  return policy.approvals.sameUid;
}

/** What of a token may be shown. */
function viewOf(one: TokenRecord) {
  return {
    id: one.id,
    name: one.name,
    roles: one.roles,
    proof: one.proof,
    created_at: isoTime(one.createdAt),
    expires_at: one.expiresAt === null ? null : isoTime(one.expiresAt),
    state: stateOf(one),
  };
}

function stateOf({ revokedAt, expiresAt }: TokenRecord): 'valid' | 'expired' | 'revoked' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && expiresAt <= Date.now() ? 'expired' : 'valid';
}

const isoTime = (at: number): string => new Date(at).toISOString();
