/** Names of PowerShell's commands: aliases, modules, programs. */

const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'remove-item': 'rm del erase rd ri rmdir',
    'get-childitem': 'ls dir gci',
    'get-item': 'gi',
    'get-itemproperty': 'gp',
    'get-itempropertyvalue': 'gpv',
    'get-content': 'gc cat type',
    'get-location': 'pwd gl',
    'set-location': 'cd chdir sl',
    'stop-process': 'kill spps',
    'start-process': 'start saps',
    'invoke-expression': 'iex',
    'invoke-command': 'icm',
    'invoke-item': 'ii',
    'invoke-webrequest': 'iwr curl wget',
    'invoke-restmethod': 'irm',
    'write-output': 'echo write',
    'get-command': 'gcm',
    'select-string': 'sls',
    'foreach-object': '% foreach',
    'where-object': '? where',
    'set-alias': 'sal',
    'new-alias': 'nal',
    'set-content': 'sc',
    'add-content': 'ac',
    'clear-content': 'clc',
    'set-variable': 'set sv',
    'get-variable': 'gv',
    'copy-item': 'cp copy cpi',
    'move-item': 'mv move mi',
    'tee-object': 'tee',
    'sort-object': 'sort',
    'select-object': 'select',
    'measure-object': 'measure',
    'compare-object': 'compare diff',
    'import-csv': 'ipcsv',
    'format-table': 'ft',
    'format-list': 'fl',
    'format-hex': 'fhx',
    'out-host': 'oh',
    'out-printer': 'lp',
    'set-clipboard': 'scb',
    'get-process': 'gps ps',
    'start-job': 'sajb',
    'start-sleep': 'sleep',
    'clear-host': 'clear cls',
    'get-history': 'h history ghy',
    'get-help': 'man help',
    'new-item': 'ni',
    'new-psdrive': 'mount ndr',
  }).flatMap(([name, others]) => others.split(' ').map((other) => [other, name] as const)),
);

/** Cmdlets that download; for the rules of pipes they are `curl`. */
const downloads = new Set(['invoke-webrequest', 'invoke-restmethod', 'start-bitstransfer']);

/** The name without its module, in lower case: `Microsoft.PowerShell.Utility\IEX` → `iex`. */
export function unqualifiedCmdletName(called: string): string {
  const module = /^[A-Za-z][\w.]*\\([\w-]+)$/.exec(called);
  return (module?.[1] ?? called).toLowerCase();
}

/** The full name of the cmdlet that `called` is an alias of, else `null`. */
export function resolveCmdlet(called: string, own?: ReadonlyMap<string, string>): string | null {
  let name = unqualifiedCmdletName(called);
  for (let steps = 0; steps < 8; steps += 1) {
    const next = own?.get(name) ?? aliases.get(name);
    if (next === undefined) break;
    name = next;
  }
  return /^[a-z]+-[a-z]+$/.test(name) ? name : null;
}

/** How the rules of programs call it: `iwr` is `curl`. */
export function powerShellProgramName(called: string): string {
  const cmdlet = resolveCmdlet(called);
  if (cmdlet === 'write-output' || cmdlet === 'write-host') return 'echo';
  if (cmdlet !== null && downloads.has(cmdlet)) return 'curl';
  const base = unqualifiedCmdletName(called).replace(/^.*[\\/]/, '');
  return base.replace(/\.(?:exe|com|cmd|bat)$/, '');
}
