/** Which calls of .NET in PowerShell are refused. */
import { dumpsEnvironment, secretFile, secretVariable } from '../../shell/reasons.ts';
import { isSecretName } from '../../shell/secret.ts';
import * as reasons from '../reasons.ts';
import { report, secrecyOf, type Walk } from '../walk.ts';
import type { Call, Command } from '../words.ts';

const openers =
  /^io\.file::(?:readall\w+|readlines|open|openread|opentext|copy)$|^io\.streamreader::new$/;

export function judgeCall(walk: Walk, command: Command, { name, args }: Call): void {
  const [first] = args;
  const value = first?.value ?? null;
  if (/^(?:io\.directory|microsoft\.visualbasic\.\w+\.filesystem)::delete/.test(name)) {
    if (args.slice(1).some((word) => word.value === 'True')) {
      report(walk, reasons.deletesTree, command);
    }
  } else if (name === '.delete') {
    if (value === 'True') report(walk, reasons.deletesTree, command);
  } else if (name === 'environment::getenvironmentvariables') {
    report(walk, dumpsEnvironment, command);
  } else if (name === 'environment::getenvironmentvariable') {
    const secret = value !== null && isSecretName(value.toUpperCase());
    const shown = command.shown && !walk.consumers.has(command);
    if (secret && shown) report(walk, secretVariable, command, value);
  } else if (openers.test(name)) {
    if (first !== undefined && secrecyOf(first) === 'block') report(walk, secretFile, command);
  } else if (name === 'scriptblock::create' || /^\.(?:invokescript|newscriptblock)$/.test(name)) {
    if (value === null) report(walk, reasons.dynamicText, command);
    else walk.nested(value, 'powershell', { walk, via: 'scriptblock', span: command.span });
    if (name === '.invokescript') report(walk, reasons.evaluates, command);
  }
}
