/**
 * The publication gate on the wire: it reports what may leave, and lays it out where the caller can
 * take it.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { BytePath } from '../../change.ts';
import type { Caller, ExecId } from '../../command.ts';
import { TrlError } from '../../errors.ts';
import { openSecretKey } from '../../approval/key.ts';
import { withoutEvidence } from '../../publish/gate.ts';
import type { PublishCheckParams, PublishParams } from '../../api/publish.ts';
import type { MethodAnswers } from '../../api/methods.ts';
import { isBelow } from '../../workspace/inspect-path.ts';
import { TimeSlices } from '../../workspace/time-slices.ts';
import type { Auditing } from '../auditing/auditing.ts';
import type { DiffRedaction } from '../diffs/diff-redaction.ts';
import type { Executions } from '../executions/executions.ts';
import type { Masking } from '../secrets/masking.ts';
import type { ProvePerson } from '../approvals/person-proof.ts';
import type { PublicationService } from '../runtime.ts';
import type { Runners } from '../runners.ts';
import type { ChangeRecord, FileSource, WorkspaceHost } from '../../host/port.ts';
import { AcceptedTraces } from './accepted-traces.ts';
import { collectPublication, findChangeRecord } from './collect.ts';
import { DeniedContentIndexes } from './denied-content.ts';
import {
  itemsDigest,
  publicationAuditRecord,
  verdictDigest,
  type InspectedPublication,
} from './publication-records.ts';
import { secretFinder } from './find-secrets.ts';
import { digestInSlices } from './digest-in-slices.ts';
import { inspectPublication } from './inspect.ts';
import type { OutgoingCollection, EarlierFile } from '../../publish/publication.ts';
import { pathsChangedBy, interferenceBy, type CommandVisibility } from './interference.ts';
import { layOutPublication, removePublication } from './outgoing.ts';
import {
  resolvePublicationScope,
  audienceFilter,
  type PublicationScope,
  type PublicationScopeParts,
} from './publication-scope.ts';
import { publishVerdictView } from './verdict-view.ts';

export interface PublicationServiceParts extends PublicationScopeParts {
  /** Private to the user; created at the first check. */
  readonly directory: string;
  readonly workspaceHost: Pick<WorkspaceHost, 'files' | 'history' | 'resolve'>;
  readonly execs: Pick<Executions, 'find'>;
  readonly runners: Pick<Runners, 'link'>;
  readonly masking: Masking;
  /** How secrets are recognised in publications. */
  readonly redaction: Omit<DiffRedaction, 'index'>;
  readonly auditing: Pick<Auditing, 'record'>;
  /** What a command could read; `null`: unknown by now. */
  readonly visibilityOf: (id: ExecId) => CommandVisibility | null;
  /**
   * @throws TrlError `AUTH_FAILED` unless the caller proves to be a person, or only the uid counts
   *   and is sufficient
   */
  readonly prove: ProvePerson;
  /** Reads secrets that were added since. */
  readonly loadSecrets: () => Promise<void>;
}

export class DaemonPublicationService implements PublicationService {
  readonly #parts: PublicationServiceParts;
  readonly #denied: DeniedContentIndexes;

  constructor(parts: PublicationServiceParts) {
    this.#parts = parts;
    this.#denied = new DeniedContentIndexes(
      join(parts.directory, 'places'),
      parts.workspaceHost.files,
    );
  }

  async check(caller: Caller, params: PublishCheckParams): Promise<MethodAnswers['publish.check']> {
    const { auditing, prove, masking } = this.#parts;
    const isShown = params.evidence === true;
    if (isShown) await prove('Cannot show the findings', caller, params.passphrase);
    const inspected = await this.#inspectApproved(caller, params);
    const isBlocked = inspected.verdict.decision === 'block';
    const kind = isBlocked ? 'publication.blocked' : 'publication.checked';
    await auditing.record(publicationAuditRecord(kind, caller, inspected));
    return masking.deep(publishVerdictView(inspected, verdictDigest(inspected), isShown));
  }

  async publish(caller: Caller, params: PublishParams): Promise<MethodAnswers['publish']> {
    const { auditing, masking, directory } = this.#parts;
    const inspected = await this.#inspectApproved(caller, params);
    const { items, verdict } = inspected;
    if (verdict.decision !== 'pass') {
      await auditing.record(publicationAuditRecord('publication.blocked', caller, inspected));
      throw this.#refusal(inspected);
    }
    if (!items.some(({ file }) => file !== null)) {
      throw new TrlError('INVALID_PARAMS', 'Cannot publish: there is nothing to publish');
    }
    const publication = await layOutPublication(join(directory, 'outgoing'), items);
    try {
      const more = { publication_id: publication.id };
      await auditing.record(
        publicationAuditRecord('publication.published', caller, inspected, more),
      );
    } catch (error) {
      // Content without an audit record must not leave.
      removePublication(publication.directory);
      throw error;
    }
    const { id, files, directory: laidOutAt } = publication;
    const shown = publishVerdictView(inspected, verdictDigest(inspected), false);
    return masking.deep({ ...shown, publication_id: id, directory: laidOutAt, files });
  }

  /** @throws TrlError `AUTH_FAILED`, `INVALID_PARAMS` for an approval of other content */
  async #inspectApproved(
    caller: Caller,
    params: PublishCheckParams,
  ): Promise<InspectedPublication> {
    const found = await this.#inspected(params);
    const { accept, passphrase } = params;
    if (accept === undefined || found.verdict.decision === 'pass') return found;
    await this.#parts.prove('Cannot approve the publication', caller, passphrase);
    if (found.verdict.decision === 'block') return found;
    if (!verdictDigest(found).startsWith(accept.toLowerCase())) {
      const message = 'Cannot approve the publication: it differs from what was shown';
      throw new TrlError('INVALID_PARAMS', message);
    }
    const { verdict } = found;
    const asked = verdict.findings.filter(({ decision }) => decision === 'review');
    const traces = asked.map(({ trace }) => trace);
    const event = publicationAuditRecord('publication.checked', caller, found, {
      accepted: traces,
    });
    await this.#parts.auditing.record(event);
    this.#accepted(found.audience).add(traces);
    const findings = verdict.findings.map((one) =>
      one.decision === 'review' ? ({ ...one, decision: 'pass' } as const) : one,
    );
    return { ...found, verdict: { ...verdict, decision: 'pass', findings } };
  }

  async #inspected(params: PublishCheckParams): Promise<InspectedPublication> {
    const { workspaceHost, execs, runners, loadSecrets } = this.#parts;
    await loadSecrets();
    const parts = { host: workspaceHost, execs, runners };
    const { exec_id: exec, session_id: session } = params;
    const record = this.#ownRecord(await findChangeRecord(parts, exec));
    const place = await resolvePublicationScope(
      this.#parts,
      params,
      record ?? this.#sessionOf(exec),
    );
    const all = await workspaceHost.history.records();
    const records = all.filter(({ root }) => root === place.root);
    const collection = await collectPublication(parts, params, { ...place, record, records });
    const { items } = collection;
    const slices = new TimeSlices();
    const turn = async (): Promise<void> => (slices.isOver ? slices.yieldTurn() : undefined);
    const contents: string[] = [];
    for (const { bytes } of items) contents.push(await digestInSlices(bytes, slices));
    const verdict = await this.#verdict(place, { collection, contents, records, turn });
    const { audience, policy } = place;
    const made = new Set(contents);
    const execsOf = records.filter(({ changes }) =>
      changes.some(({ after }) => after?.type === 'file' && made.has(after.sha256 ?? '')),
    );
    return {
      verdict,
      audience: audience.name,
      policyVersion: policy.version,
      items,
      contents,
      itemsDigest: await itemsDigest({ items, contents }, turn),
      session,
      exec,
      execs: [
        ...new Set([...(exec === undefined ? [] : [exec]), ...execsOf.map((one) => one.exec)]),
      ],
    };
  }

  async #verdict(
    place: PublicationScope,
    of: {
      readonly collection: OutgoingCollection;
      readonly contents: readonly string[];
      readonly records: readonly ChangeRecord[];
      readonly turn: () => Promise<void>;
    },
  ): Promise<InspectedPublication['verdict']> {
    const { collection, contents, records, turn } = of;
    const { directory, masking, redaction, visibilityOf, workspaceHost } = this.#parts;
    const kept = await workspaceHost.history.contents();
    const leaving = new Set(collection.items.flatMap(({ path }) => (path === null ? [] : [path])));
    const changed = pathsChangedBy(records);
    return this.#denied.use(place, { records, contents: kept }, async ({ files, surveyed }) => {
      // The current publication and the changes of commands do not count as already visible to the
      // audience.
      const isOther = (path: BytePath): boolean => !leaving.has(path) && !changed.has(path);
      const visible = surveyed.visible.filter(isOther);
      const earlier = collection.earlier ?? (await this.#earlierFiles(place, visible));
      return inspectPublication({
        scope: place,
        collection,
        contents,
        denied: files,
        visible,
        turn,
        deniedPaths: surveyed.denied.map(({ path }) => path),
        earlier: () => shownOf(place, earlier(), collection.earlier === null ? isOther : null),
        interference: interferenceBy({
          records,
          visibilityOf,
          denied: place.deny,
          policy: place.policy,
        }),
        canaries: place.canaries,
        findSecrets: secretFinder(
          {
            ...redaction,
            index: masking.index,
          },
          turn,
        ),
        traceKey: openSecretKey(directory, 'trace.key'),
        accepted: this.#accepted(place.audience.name).traces(),
      });
    });
  }

  /**
   * What policy specifies that the audience has; else the committed files, because a build may have
   * left any other files; else all files there.
   */
  async #earlierFiles(
    place: PublicationScope,
    visible: readonly BytePath[],
  ): Promise<() => AsyncIterable<EarlierFile>> {
    const { root, audience } = place;
    const { files } = this.#parts.workspaceHost;
    const hasList = audience.sees.length > 0;
    const committed = hasList ? null : await files.committed(place);
    return (
      committed ??
      (() => visibleFiles(files.open(root), visible.filter(audienceFilter(this.#parts, place))))
    );
  }

  #accepted(audience: string): AcceptedTraces {
    const name = createHash('sha256').update(audience).digest('hex').slice(0, 16);
    return new AcceptedTraces(join(this.#parts.directory, `accepted-${name}`));
  }

  #sessionOf(exec: ExecId | undefined): Pick<ChangeRecord, 'root' | 'session'> | null {
    const session = exec === undefined ? null : this.#parts.execs.find(exec)?.record.sessionId;
    const found = this.#parts.sessions.all().find(({ record }) => record.id === session)?.record;
    if (found?.workspace === undefined || found.workspace === null) return null;
    return { root: found.workspace, session: found.id };
  }

  /** This runtime does not report what another runtime recorded in other directories. */
  #ownRecord(record: ChangeRecord | null): ChangeRecord | null {
    if (record === null || this.#parts.roots.some((one) => isBelow(record.root, one))) {
      return record;
    }
    const message = `Cannot publish what ${record.exec} changed: that is outside the roots`;
    throw new TrlError('EXEC_NOT_FOUND', message);
  }

  #refusal(inspected: InspectedPublication): TrlError {
    const { verdict, audience } = inspected;
    const { findings } = withoutEvidence(verdict);
    const [first] = findings;
    const why = first === undefined ? '' : ` (${first.rule}, ${first.trace})`;
    const message =
      verdict.decision === 'block'
        ? `Cannot publish for "${audience}": it contains denied content${why}`
        : `Cannot publish for "${audience}": a person must approve it first${why}`;
    return new TrlError('PUBLICATION_BLOCKED', message, {
      data: {
        ...publishVerdictView(inspected, verdictDigest(inspected), false),
        trace: first?.trace ?? null,
        items_digest: inspected.itemsDigest,
      },
    });
  }
}

/** Larger files contain data rather than text that people wrote. */
const seenFileBytesMax = 1024 * 1024;

/** Files of the workspace that the audience can see and that can be read. */
async function* visibleFiles(
  opened: FileSource,
  paths: readonly BytePath[],
): AsyncGenerator<EarlierFile, void, void> {
  using source = opened;
  for (const path of paths) {
    try {
      const found = await source.read(path, seenFileBytesMax);
      if (found !== null) yield { path, bytes: found.bytes, isPublished: false };
    } catch {
      // An unreadable file is not subtracted: this can only add findings.
    }
  }
}

/** Earlier published content that is denied now remains denied. */
async function* shownOf(
  { visibility }: PublicationScope,
  files: AsyncIterable<EarlierFile>,
  isOther: ((path: BytePath) => boolean) | null,
): AsyncGenerator<EarlierFile, void, void> {
  for await (const file of files) {
    if (visibility.hides(file.path) || isOther?.(file.path) === false) continue;
    yield file;
  }
}
