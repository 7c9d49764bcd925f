/** Words that names of files are made of everywhere: a name of nothing else tells nothing. */

const words: ReadonlySet<string> = new Set(
  [
    // places
    'app apps api assets bin build cache client cmd common components config configs content core',
    'css data db demo deps dist doc docs etc example examples examples ext external fixtures fonts',
    'hooks html http https icons images img include includes infra js json lang lib libs local',
    'locale locales main media middleware migrations mocks models module modules node nodes out',
    'output packages page pages pkg plugin plugins public release resources root routes runtime',
    'samples schema schemas script scripts server service services share shared site source sources',
    'spec specs src static store stores styles stylesheets support system target task tasks temp',
    'template templates test tests testdata theme themes third party tmp tools ts types typings ui',
    'user users util utils utility utilities vendor version views web website workflows worker',
    'workers workspace www esm cjs umd mjs cts mts lib es cli dev prod debug legacy latest next',
    'default index readme license licence changelog contributing authors notice',
    'copying history security makefile dockerfile gemfile package lock tsconfig jest eslint',
    'prettier babel webpack rollup vite setup init conftest manage settings env environment',
    // what code does
    'abstract action actions add adapter after all and any args array as async at auth base batch',
    'before bench benchmark binary block bool boolean browser buffer builder by byte bytes call',
    'callback case chain change check child class clean clear clone close code codec collection',
    'color command commands compare compat compile compiler component connect connection console',
    'const constant constants container context control controller convert copy count create',
    'current date debounce decode decoder def define definition definitions delete depth diff',
    'directory dispatch document dom draw each edit element email emit emitter empty encode encoder',
    'encoding end engine entry entries enum equal error errors escape eval event events exec',
    'exception execute exit exports export extend extension extensions factory fetch field file',
    'files filter find first flag flags flat flatten float flow fn fold for form format formatter',
    'formatters from function functions general generate generator generic get getter global globals',
    'graph group guard handle handler handlers has hash head header headers helper helpers hook host',
    'icon id identity if image impl import imports in info input insert instance instances int',
    'integer interface interfaces is item items iterator join key keys kind label last layout left',
    'length level line lines link list listener load loader locals log logger logging login loop',
    'make manager map mapping match math max memory merge message messages meta method methods min',
    'mixin mode model name names native network new no none normalize not null number object',
    'objects observer of off on once open operation operator operators option optional options or',
    'order page parse parser part patch path paths pattern patterns pipe platform point polyfill',
    'pool port post prefix print process project promise properties property props protocol',
    'provider providers proxy push query queue random range read reader record reduce ref reference',
    'register registry remove render renderer repeat replace report reporter request require',
    'resolve resolver response rest result results return reverse right route router rule rules run',
    'runner safe sample save scan scanner scope search select selector send sequence serialize',
    'serializer session set setter shim simple single size slice socket sort split stack standard',
    'start state stats status step stop storage stream string strings struct style suffix sum',
    'symbol sync syntax table tag tags take text time timeout timer timestamp to token tokenizer',
    'tokens tool top trace transform transformer traverse tree trim type typed uid undefined union',
    'unit update upload url use utf util validate validation validator validators value values var',
    'variable variables verify view visitor void wait walk watch watcher weak with without wrap',
    'wrapper write writer yaml xml zip',
    // what is about code, and common besides
    'accessor algorithm argument arguments calendar character commonjs declaration decorator detail',
    'details discussion ensure getting grammar immediate incident inherit inherits iterable iterator',
    'language limit month primary problem quick regular reports response secondary sentinel series',
    'simple special started stream streams summary threat timezone tutorial upgrade upgrading usage',
    'warning warnings weekday wordwrap writable readable',
  ].flatMap((line) => line.split(' ')),
);

/** The words of a name, small: cut at signs and where a capital follows. */
export function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\x80-\uffff]+/)
    .filter((word) => word.length >= 3);
}

/** Whether a word is one that names everywhere have. */
export const isGeneric = (word: string): boolean =>
  words.has(word) || (word.endsWith('s') && words.has(word.slice(0, -1)));
