/** `trl config show`: what is set, and where. No daemon is needed. */
import type { Configuration } from '../configuration/configuration.ts';
import { loadConfiguration } from '../configuration/load.ts';
import { checkSecretPatterns } from '../configuration/configuration.ts';
import { version } from '../protocol/version.ts';
import type { CliArguments } from './args.ts';
import { printRows } from './print.ts';

/**
 * What a runtime that is started here would have.
 *
 * @throws ConfigurationError as its start would
 */
export async function runConfigShow(args: CliArguments): Promise<number> {
  const flags = {
    config: args.text('config') ?? null,
    envMode: args.text('env-mode') ?? null,
    bounds: args.all('bound'),
  };
  const { files, settings, redaction } = await loadConfiguration({
    env: process.env,
    flags,
    version: version(),
  });
  await tryPatterns(redaction.patterns);
  const origin = args.has('origin');
  const rows = settings.map(({ key, value, origins }) => [
    key,
    typeof value === 'string' ? value : JSON.stringify(value),
    ...(origin ? [origins.join(', ')] : []),
  ]);
  return printRows(
    args,
    { files, settings },
    ['KEY', 'VALUE', ...(origin ? ['ORIGIN'] : [])],
    rows,
  );
}

async function tryPatterns(patterns: Configuration['redaction']['patterns']): Promise<void> {
  if (patterns.length === 0) return;
  const { compileUserRules } = await import('../redaction/rules/user-rules.ts');
  checkSecretPatterns(patterns, compileUserRules);
}
