/** Words that names of files are made of everywhere: a name of nothing else tells nothing. */

const words: ReadonlySet<string> = new Set(
  [
    // places
    'api app apps assets authors babel bin build cache changelog cjs cli client cmd common',
    'components config configs conftest content contributing copying core css cts data db',
    'debug default demo deps dev dist doc dockerfile docs env environment es eslint esm etc',
    'example examples ext external fixtures fonts gemfile history hooks html http https icons',
    'images img include includes index infra init jest js json lang latest legacy lib libs',
    'licence license local locale locales lock main makefile manage media middleware',
    'migrations mjs mocks models module modules mts next node nodes notice out output package',
    'packages page pages party pkg plugin plugins prettier prod public readme release',
    'resources rollup root routes runtime samples schema schemas script scripts security',
    'server service services settings setup share shared site source sources spec specs src',
    'static store stores styles stylesheets support system target task tasks temp template',
    'templates test testdata tests theme themes third tmp tools ts tsconfig types typings ui',
    'umd user users util utilities utility utils vendor version views vite web webpack',
    'website worker workers workflows workspace www',
    // what code does
    'abstract action actions adapter add after all and any args array as async at auth base',
    'batch before bench benchmark binary block bool boolean browser buffer builder by byte',
    'bytes call callback case chain change check child class clean clear clone close code',
    'codec collection color command commands compare compat compile compiler component',
    'connect connection console const constant constants container context control controller',
    'convert copy count create current date debounce decode decoder def define definition',
    'definitions delete depth diff directory dispatch document dom draw each edit element',
    'email emit emitter empty encode encoder encoding end engine entries entry enum equal',
    'error errors escape eval event events exception exec execute exit export exports extend',
    'extension extensions factory fetch field file files filter find first flag flags flat',
    'flatten float flow fn fold for form format formatter formatters from function functions',
    'general generate generator generic get getter global globals graph group guard handle',
    'handler handlers has hash head header headers helper helpers hook host icon id identity',
    'if image impl import imports in info input insert instance instances int integer',
    'interface interfaces is item items iterator join key keys kind label last layout left',
    'length level line lines link list listener load loader locals log logger logging login',
    'loop make manager map mapping match math max memory merge message messages meta method',
    'methods min mixin mode model name names native network new no none normalize not null',
    'number object objects observer of off on once open operation operator operators option',
    'optional options or order page parse parser part patch path paths pattern patterns pipe',
    'platform point polyfill pool port post prefix print process project promise properties',
    'property props protocol provider providers proxy push query queue random range read',
    'reader record reduce ref reference register registry remove render renderer repeat',
    'replace report reporter request require resolve resolver response rest result results',
    'return reverse right route router rule rules run runner safe sample save scan scanner',
    'scope search select selector send sequence serialize serializer session set setter shim',
    'simple single size slice socket sort split stack standard start state stats status step',
    'stop storage stream string strings struct style suffix sum symbol sync syntax table tag',
    'tags take text time timeout timer timestamp to token tokenizer tokens tool top trace',
    'transform transformer traverse tree trim type typed uid undefined union unit update',
    'upload url use utf util validate validation validator validators value values var',
    'variable variables verify view visitor void wait walk watch watcher weak with without',
    'wrap wrapper write writer xml yaml zip',
    // what is about code, and common besides
    'accessor algorithm argument arguments calendar character commonjs declaration decorator',
    'detail details discussion ensure getting grammar immediate incident inherit inherits',
    'iterable iterator language limit month primary problem quick readable regular reports',
    'response secondary sentinel series simple special started stream streams summary threat',
    'timezone tutorial upgrade upgrading usage warning warnings weekday wordwrap writable',
  ].flatMap((line) => line.split(' ')),
);

/** The words of a name, small: cut at signs and where a capital follows. */
export function splitNameWords(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\x80-\uffff]+/)
    .filter((word) => word.length >= 3);
}

/** Whether a word is one that names everywhere have. */
export const isGenericWord = (word: string): boolean =>
  words.has(word) || (word.endsWith('s') && words.has(word.slice(0, -1)));
