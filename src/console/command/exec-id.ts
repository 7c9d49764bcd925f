/** Ids in addresses. */
import type { ExecView } from '../../client/index.ts';

export const isExecId = (text: string): text is ExecView['exec_id'] =>
  /^x-[0-9a-f]{32}$/.test(text);
