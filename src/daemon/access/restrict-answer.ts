/** What is left of an answer for a caller that sees only its own. */
import type { ExecId, SessionId } from '../../command.ts';
import type { MethodAnswers, MethodName } from '../../api/methods.ts';
import type { OwnerLookup } from './ownership.ts';

export interface AnswerViewer {
  readonly actor: string;
  readonly owners: OwnerLookup;
}

type Views = {
  readonly [M in MethodName]?: (
    answer: MethodAnswers[M],
    sight: AnswerViewer,
  ) => MethodAnswers[M] | Promise<MethodAnswers[M]>;
};

/** Every method that answers of more than its parameters name. */
const views: Views = {
  'session.list': ({ sessions }, sight) => ({ sessions: sessions.filter(isOwn(sight)) }),
  'exec.list': ({ execs }, sight) => ({ execs: execs.filter(isOwn(sight)) }),
  'approval.list': ({ approvals }, sight) => ({ approvals: approvals.filter(isOwn(sight)) }),
  'secrets.requests': ({ requests }, { actor }) => ({
    requests: requests.filter(({ requester }) => requester === actor),
  }),
  // Commands of others wrote the same files.
  'snapshot.restore': async (answer, sight) => ({
    ...answer,
    exec_ids: await ownExecs(answer.exec_ids, sight),
  }),
  'exec.undo': async (answer, sight) => ({
    ...answer,
    exec_ids: await ownExecs(answer.exec_ids, sight),
  }),
};

export async function restrictAnswer<M extends MethodName>(
  method: M,
  answer: MethodAnswers[M],
  sight: AnswerViewer,
): Promise<MethodAnswers[M]> {
  const view: Views[M] = views[method];
  return view === undefined ? answer : view(answer, sight);
}

const isOwn =
  ({ actor, owners }: AnswerViewer) =>
  ({ session_id: id }: { readonly session_id: SessionId }): boolean =>
    owners.ofSession(id) === actor;

async function ownExecs(
  ids: readonly ExecId[],
  { actor, owners }: AnswerViewer,
): Promise<ExecId[]> {
  const found = await Promise.all(ids.map((id) => owners.ofRecord(id)));
  return ids.filter((_, at) => found[at] === actor);
}
