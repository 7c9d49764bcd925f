/** Values that ordinary output holds, too: masking them would hide what is no secret. Pure. */

const words: ReadonlySet<string> = new Set(
  [
    'access account action active address admin administrator alpha anonymous application approved',
    'archive article authorization available background backup balance before benchmark between',
    'branch browser buffer build button cancel capacity category certificate changed changeme',
    'channel character check children client cluster command commit compile complete config',
    'configuration connect connection console container content context continue control cookie',
    'create created current customer database debug default delete demo deploy deployment',
    'description destination develop developer development directory disabled docker document',
    'domain download dragon driver dynamic element enabled encoding engine enterprise environment',
    'error example exception execute expected export external failed failure feature field file',
    'filter finished folder follow format forward function generate generic github global group',
    'handler header health history hostname iloveyou image import include index information',
    'install instance integration interface internal invalid invalidate kernel kubernetes language',
    'latest letmein library license linux listen local localhost location logging login machine',
    'manager master member memory message method metrics middleware migrate minimum missing mobile',
    'module monitor monkey mysql network nginx normal notification number object option optional',
    'output override overview package parameter parent partition password path patient pending',
    'performance permission platform plugin policy postgres postgresql prefix private process',
    'production profile program progress project property protocol provider proxy public publish',
    'python query queue qwerty random reader record redis refresh region register registry release',
    'remote remove replica report repository request require required reset resource response',
    'restart result return root running runtime sample sandbox schedule schema script search',
    'secret section security select sensitive server service session settings shadow shared signal',
    'simple single socket source staging standard started startup state static status storage',
    'stream string submit success summary sunshine superuser support system target template',
    'temporary terminal test testing thread timeout token transaction transfer trusted ubuntu',
    'unknown update upgrade upload user username validate value variable version visitor volume',
    'warning webhook website welcome window worker workspace',
  ].flatMap((line) => line.split(' ')),
);
const wordLettersMax = 10;

/** A sentence that warns of a value which ordinary output is likely to hold, or `null`. */
export function commonWordWarning(value: string): string | null {
  const plain = value.trim().toLowerCase();
  const base = plain.replace(/[\d!@#$._-]{1,4}$/, '');
  if (words.has(plain) || words.has(base)) {
    return 'it is a common word: ordinary output that holds it is hidden, too';
  }
  if (/^[a-z]+$/.test(plain) && plain.length <= wordLettersMax) {
    return 'it is short and all letters: if it is a word, ordinary output is hidden, too';
  }
  return /^\d+$/.test(plain)
    ? 'it is a number: ordinary output that holds it is hidden, too'
    : null;
}
