/** What most tools do: regular expressions over the text. For comparison only. */

const blocks: readonly RegExp[] = [
  /rm\s+-rf|rmdir\s+\/s|del\s+\/s|\bformat\b|mkfs|dd\s+if=/i,
  /shutdown|reboot|\bhalt\b|poweroff/i,
  /-EncodedCommand|base64.*\|\s*sh/i,
  /(?:curl|wget).*\|\s*(?:ba)?sh|\bIEX\b/i,
  /git\s+push|vercel\s+deploy|railway\s+up|npm\s+publish/i,
  /npm\s+login|npm\s+token/i,
  /printenv|^env\b|cat\s+\.env|echo\s+\$\w*KEY/i,
  /\bsudo\b|\bsu\b/i,
  /kill\s+-9|Stop-Process.*-Force/i,
  /\beval\b|\bexec\b/i,
];

const allows: readonly RegExp[] = [
  /^git (?:status|diff|log|branch|show)\b[^;&|<>$`]*$/,
  /^rg\b[^;&|<>$`]*$/,
  /^npm (?:run (?:lint|typecheck|build|test|ls)|test|ls)\b[^;&|<>$`]*$/,
  /^npx (?:tsc --noEmit|next lint|prisma (?:validate|generate))\b[^;&|<>$`]*$/,
  /^(?:ls|dir|pwd)\b[^;&|<>$`]*$/,
  /^(?:cat|type|Get-Content) \S+$/,
  /^(?:node|npm|npx|python|tsc|next|prisma) --version$/,
];

export function naive(command: string): 'allow' | 'ask' | 'block' {
  if (blocks.some((pattern) => pattern.test(command))) return 'block';
  return allows.some((pattern) => pattern.test(command)) ? 'allow' : 'ask';
}
