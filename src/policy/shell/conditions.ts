/** Whether the condition of a rule holds for a command line. */
import type { RuleCondition } from '../commands/schema.ts';
import { legibleWord, normalizeShellPath } from './derived-words.ts';
import type { ParsedInvocation } from './unwrap.ts';

/** The command line that a condition is evaluated on. */
export interface ConditionSubject extends ParsedInvocation {
  /** Called by a bare name: `eval`, not `./eval`. */
  readonly bare: boolean;
  /** Whether it starts another command. */
  readonly starts: boolean;
}

export function conditionHolds(asked: ConditionSubject, when: RuleCondition): boolean {
  const { options, operands } = asked.parsed;
  const has = (effect: string): boolean => options.has(effect);
  if (when.builtin === true && !asked.bare) return false;
  if (when.alone === true && asked.command.words.length > 0) return false;
  if (when.starts === 'nothing' && asked.starts) return false;
  if (when.all !== undefined && !when.all.every(has)) return false;
  if (when.any !== undefined && !when.any.some(has)) return false;
  if (when.none?.some(has) === true) return false;
  if (when.operands !== undefined && operands.length > 0 !== (when.operands === 'some')) {
    return false;
  }
  return hasValue(asked, when) && hasOperand(asked, when);
}

function hasValue({ parsed }: ConditionSubject, { value }: RuleCondition): boolean {
  if (value === undefined) return true;
  const given = parsed.options.get(value.option) ?? [];
  return given.some((one) => {
    const text = one?.text?.toLowerCase();
    return text !== undefined && value.equals.includes(text);
  });
}

function hasOperand({ parsed, command }: ConditionSubject, { operand }: RuleCondition): boolean {
  if (operand === undefined) return true;
  const { at } = operand;
  const chosen = at === undefined ? parsed.operands : parsed.operands.slice(at, at + 1);
  return chosen.some((index) => {
    const word = command.words[index];
    if (word === undefined) return false;
    const text = legibleWord(word).toLowerCase();
    const equal = word.value !== null && operand.equals?.includes(text) === true;
    return equal || operand.starts?.some((start) => text.startsWith(start)) === true;
  });
}

const trees: ReadonlySet<string> = new Set(
  '/ ~ /bin /boot /etc /home /lib /opt /root /sbin /usr /var'.split(' '),
);
const device = /^(?:of=)?\/dev\/(?!(?:null|zero|full|std(?:in|out|err)|fd|shm)(?:\/|$))/;

/** Whether an operand is a tree of the machine, all that is in one, the home or a device. */
export function targetsMachineTree({ parsed, command }: ConditionSubject): boolean {
  return parsed.operands.some((index) => {
    const word = command.words[index];
    if (word === undefined) return false;
    const isHome = word.variables.length === 1 && word.variables[0] === 'HOME';
    const text = word.pieces.map((piece) => piece ?? (isHome ? '~' : '\uFFFF')).join('');
    const path = normalizeShellPath(text).replace(/\/(?:\.?\*)?$/, '');
    // A file of that name.
    if (path === '~' && !text.startsWith('~')) return false;
    return trees.has(path === '' ? '/' : path) || device.test(text);
  });
}
