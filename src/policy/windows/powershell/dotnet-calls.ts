/** Which calls of .NET in PowerShell are refused. */
import {
  environmentDumpReason,
  secretFileReason,
  secretVariableReason,
} from '../../shell/reasons.ts';
import { isSecretVariableName } from '../../shell/secret.ts';
import * as reasons from '../reasons.ts';
import {
  reportWindowsFinding,
  windowsWordSecrecy,
  type WindowsAnalysisContext,
} from '../analysis-context.ts';
import type { DotNetCall, WindowsCommand } from '../words.ts';

const openers =
  /^io\.file::(?:readall\w+|readlines|open|openread|opentext|copy)$|^io\.streamreader::new$/;

export function judgeDotNetCall(
  walk: WindowsAnalysisContext,
  command: WindowsCommand,
  { name, args }: DotNetCall,
): void {
  const [first] = args;
  const value = first?.value ?? null;
  if (/^(?:io\.directory|microsoft\.visualbasic\.\w+\.filesystem)::delete/.test(name)) {
    if (args.slice(1).some((word) => word.value === 'True')) {
      reportWindowsFinding(walk, reasons.treeDeletion, command);
    }
  } else if (name === '.delete') {
    if (value === 'True') reportWindowsFinding(walk, reasons.treeDeletion, command);
  } else if (name === 'environment::getenvironmentvariables') {
    reportWindowsFinding(walk, environmentDumpReason, command);
  } else if (name === 'environment::getenvironmentvariable') {
    const secret = value !== null && isSecretVariableName(value.toUpperCase());
    const shown = command.shown && !walk.consumers.has(command);
    if (secret && shown) reportWindowsFinding(walk, secretVariableReason, command, value);
  } else if (openers.test(name)) {
    if (first !== undefined && windowsWordSecrecy(first) === 'block') {
      reportWindowsFinding(walk, secretFileReason, command);
    }
  } else if (name === 'scriptblock::create' || /^\.(?:invokescript|newscriptblock)$/.test(name)) {
    if (value === null) reportWindowsFinding(walk, reasons.dynamicScriptText, command);
    else walk.nested(value, 'powershell', { walk, via: 'scriptblock', span: command.span });
    if (name === '.invokescript') reportWindowsFinding(walk, reasons.textEvaluation, command);
  }
}
