/** The table of denied probes, run as commands of a session of a real daemon. */
import type { Json } from './daemon.ts';
import { deniedSigns, probeVariables, type DeniedProbe } from './denied-probes.ts';
import type { TestSession } from './session.ts';

const mark = '@@probe';
const hit = '@@hit';

/** Probes of the table that this machine has the programs for, as the sandbox sees them. */
export async function usableProbes(
  session: TestSession,
  probes: readonly DeniedProbe[],
): Promise<DeniedProbe[]> {
  const needs = [...new Set(probes.flatMap((probe) => probe.needs ?? []))];
  const { stdout } = await session.run(
    needs.map((name) => `command -v ${name} >/dev/null && echo ${name}`).join('; '),
  );
  const here = new Set(String(stdout).split('\n'));
  return probes.filter((probe) => probe.needs === undefined || here.has(probe.needs));
}

/**
 * Runs probes in one command, one after the other. Their output is searched inside: what redaction
 * hides would count as not found.
 *
 * @returns what each probe found; those that found nothing are not in it
 * @throws Error when not every probe ran
 */
export async function findings(
  session: TestSession,
  probes: readonly DeniedProbe[],
  signs: RegExp = deniedSigns,
): Promise<Map<string, string>> {
  const receipt: Json = await session.run('sh', {
    stdin: `${probes.map((probe) => scriptOf(probe, signs)).join('\n')}\n`,
    env: { HOME: '/tmp', LC_ALL: 'C.UTF-8', ...probeVariables },
    timeout_ms: 300_000,
  });
  const parts = String(receipt.stdout).split(`${mark}\n`).slice(1);
  if (parts.length !== probes.length) {
    const short = `${parts.length} of ${probes.length} probes ran`;
    throw new Error(`${short}: ${JSON.stringify(receipt)}`);
  }
  return new Map(
    probes.flatMap(({ name }, at): [string, string][] => {
      const part = parts[at] ?? '';
      return part.includes(hit) ? [[name, part]] : [];
    }),
  );
}

/** As {@link findings}, each in a state of its own: what one changed is thrown away. */
export async function findingsAlone(
  session: TestSession,
  probes: readonly DeniedProbe[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const probe of probes) {
    for (const [name, text] of await findings(session, [probe])) found.set(name, text);
    const gone = await session.client.ask('workspace.discard', { session_id: session.id });
    if (gone.ok !== true) throw new Error(`not discarded: ${JSON.stringify(gone)}`);
    const { data } = await session.client.ask('workspace.status', { session_id: session.id });
    const { staged, held, conflicts } = data.totals;
    if (staged + held + conflicts === 0) continue;
    throw new Error(`"${probe.name}" left ${JSON.stringify(data)}`);
  }
  return found;
}

function scriptOf({ command }: DeniedProbe, signs: RegExp): string {
  const quoted = `'${command.replaceAll("'", String.raw`'\''`)}'`;
  const near = `.{0,60}(${signs.source}).{0,60}`;
  const search = `LC_ALL=C grep -aoE '${near}' | sed '1s/^/${hit} /' | head -n 2`;
  const printable = String.raw`LC_ALL=C tr -c ' -~\n' '?'`;
  const probe = `timeout 20 sh -c ${quoted} </dev/null 2>/dev/null`;
  return `echo; echo ${mark}; ${probe} | ${search} | ${printable}`;
}
