/**
 * Checks the content to publish against the denied content: a second time without what the audience
 * may already know.
 */
import { createHmac } from 'node:crypto';
import type { BytePath } from '../../change.ts';
import { checkPublication } from '../../publish/gate.ts';
import type {
  EarlierFile,
  GateFinding,
  GateInput,
  GateItem,
  GateVerdict,
  Interference,
  OutgoingCollection,
  OutgoingItem,
  UnscannedItem,
} from '../../publish/publication.ts';
import { DeniedNames } from '../../publish/denied-names.ts';
import { bytePathOf, parentPathOf, pathText } from '../../workspace/byte-path.ts';
import type { DeniedFiles } from './denied-files.ts';
import type { PublicationScope } from './publication-scope.ts';

export interface InspectionInput {
  readonly scope: PublicationScope;
  readonly collection: OutgoingCollection;
  readonly denied: DeniedFiles;
  /** Denied files, including those of earlier versions. */
  readonly deniedPaths: readonly BytePath[];
  /** Paths that the audience can see, without the current publication. */
  readonly visible: readonly BytePath[];
  readonly earlier: () => AsyncIterable<EarlierFile>;
  /** SHA-256 (hex) of each item. */
  readonly contents: readonly string[];
  readonly interference: (item: OutgoingItem, sha256: string) => Interference;
  readonly canaries: readonly string[];
  readonly findSecrets: GateInput['findSecrets'];
  readonly traceKey: Uint8Array;
  readonly accepted: ReadonlySet<string>;
  readonly turn: () => Promise<void>;
}

/** Rules whose findings reveal nothing new if the audience already has the content. */
const reducible: ReadonlySet<string> = new Set(['denied.content', 'denied.file', 'denied.name']);
const findingsMax = 200;

/** Needs exclusive use of `denied` while it runs. */
export async function inspectPublication(input: InspectionInput): Promise<GateVerdict> {
  const { collection, denied, accepted, traceKey } = input;
  const all = gateItems(input);
  const first = await checkPublication(gateInput(input, all, new Set()));
  const isAll = first.findings.length < findingsMax;
  let { findings } = first;
  if (findings.some(({ rule }) => reducible.has(rule))) {
    // Only items with findings are checked again: what the audience has can remove findings, but
    // not add any.
    const again = isAll ? all.filter(({ name }) => isFoundIn(findings, name)) : all;
    try {
      const out = await denied.see(input.earlier());
      ({ findings } = await checkPublication(gateInput(input, again, out)));
    } finally {
      denied.unsee();
    }
  }
  const unread = collection.unread
    .map((one) => unreadFinding(one, traceKey))
    .filter(({ trace }) => !accepted.has(trace));
  return withFindings(first, [...findings, ...unread]);
}

function withFindings(verdict: GateVerdict, findings: readonly GateFinding[]): GateVerdict {
  const strictness = ['block', 'review', 'pass'] as const;
  const sorted = strictness.flatMap((one) => findings.filter(({ decision }) => decision === one));
  const decision = sorted[0]?.decision ?? 'pass';
  return { ...verdict, decision, findings: sorted.slice(0, findingsMax) };
}

const isFoundIn = (findings: readonly GateFinding[], name: string): boolean =>
  findings.some(({ item }) => item === name || item.startsWith(`${name}!/`));

function gateItems({
  collection,
  scope: place,
  contents,
  interference,
}: InspectionInput): GateItem[] {
  return collection.items.map((item, at) => ({
    name: item.name,
    kind: item.kind,
    bytes: item.bytes,
    path: placeOfItem(item, place),
    interference: interference(item, contents[at] ?? ''),
  }));
}

/** The target of a link to a denied path, because the target is what the link reveals. */
function placeOfItem(
  { path, file, bytes }: OutgoingItem,
  { visibility, root }: PublicationScope,
): string | null {
  if (path === null || file?.type !== 'symlink') return path === null ? null : pathText(path);
  const target = Buffer.from(bytes).toString('latin1');
  const from = target.startsWith('/') ? null : parentPathOf(path);
  const led = from === null ? below(bytePathOf(root), target) : normal(`${from}/${target}`);
  return pathText(led !== null && visibility.hides(led) ? led : path);
}

function below(root: BytePath, target: BytePath): BytePath | null {
  const clean = normal(target);
  const at = `${root.slice(1)}/`;
  return clean?.startsWith(at) === true ? clean.slice(at.length) : null;
}

/** The path without `.` and `..`; `null`: it leads out of the workspace. */
function normal(path: BytePath): BytePath | null {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return null;
  }
  return parts.join('/');
}

function gateInput(
  input: InspectionInput,
  items: readonly GateItem[],
  out: ReadonlySet<string>,
): GateInput {
  const { scope: place, denied, deniedPaths, visible, collection, turn } = input;
  const { audience, visibility } = place;
  // Names that are not UTF-8 are compared by their displayed text.
  const bytes = new Map(
    collection.items.flatMap(({ path }) => (path === null ? [] : [[pathText(path), path]])),
  );
  return {
    items: paced(items, turn),
    match: (text) => denied.match(text, turn),
    deniedFile: (sha256) => (out.has(sha256) ? null : denied.fileOf(sha256)),
    isDenied: (path) => visibility.hides(bytes.get(path) ?? bytePathOf(path)),
    names: new DeniedNames({
      paths: deniedPaths.map(pathText),
      words: audience.names,
      packages: denied.packages,
      visible: visible.map(pathText),
    }),
    canaries: input.canaries,
    findSecrets: input.findSecrets,
    onInterference: audience.interference,
    traceKey: input.traceKey,
    approved: input.accepted,
    yieldToEventLoop: turn,
  };
}

function unreadFinding({ name, reason, key }: UnscannedItem, traceKey: Uint8Array): GateFinding {
  const id = createHmac('sha256', traceKey).update(`unread\n${key}`).digest('hex');
  return {
    rule: 'unscannable',
    decision: 'review',
    item: name,
    score: null,
    trace: `t-${id.slice(0, 16)}`,
    evidence: {
      source: reason,
      span: null,
      lines: null,
      via: [],
      text: null,
    },
  };
}

/** Yields between items: the gate itself yields only within long items. */
async function* paced(
  items: readonly GateItem[],
  turn: () => Promise<void>,
): AsyncGenerator<GateItem, void, void> {
  for (const item of items) {
    await turn();
    yield item;
  }
}
