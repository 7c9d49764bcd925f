/** Which knowledge of commands decides: part of the version of every policy. */

export const knowledgeVersion = (): string => '2026-11-22';
