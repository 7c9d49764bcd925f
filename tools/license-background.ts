// Makes src/publish/background-licenses.json, the fingerprints of license texts that the
// publication gate takes for known to everybody:
//
//     npm i --ignore-scripts spdx-license-list@6.12.0 tslib@2.9.1 @babel/runtime@7.29.14
//     tools/node tools/license-background.ts DIRECTORY/node_modules
//
// The texts are SPDX's, as that package (CC0-1.0) has them, those that Debian ships in
// /usr/share/common-licenses, and the helpers that compilers and bundlers write into each file they
// make (tslib, 0BSD; @babel/runtime, MIT). Only 32-bit hashes of their letters and digits are kept.
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { GramHashes, gramChars } from '../src/publish/fingerprint.ts';
import { extractLetters } from '../src/publish/background.ts';

const fingerprintsMax = 34_000;
/** Grams that share one fingerprint: few in short texts, which are quoted whole. */
const windows = { short: 6, long: 33 };
const longChars = 6_000;
// The most used first: what does not fit is left out from the end.
const ids = `
  MIT ISC BSD-2-Clause BSD-3-Clause BSD-4-Clause 0BSD Apache-2.0 Unlicense Zlib BSL-1.0 MIT-0 X11
  WTFPL CC0-1.0 MPL-2.0 GPL-2.0-only GPL-3.0-only LGPL-2.1-only LGPL-3.0-only AGPL-3.0-only
  EPL-2.0 EPL-1.0 Artistic-2.0 Artistic-1.0-Perl PSF-2.0 Python-2.0 OFL-1.1 BlueOak-1.0.0
  PostgreSQL NCSA curl Libpng bzip2-1.0.6 OpenSSL JSON W3C Unicode-3.0 Unicode-DFS-2016 UPL-1.0
  BSD-3-Clause-Clear BSD-2-Clause-Patent BSD-1-Clause BSD-4-Clause-UC MIT-CMU HPND FTL MS-PL
  LGPL-2.0-only MPL-1.1 GPL-1.0-only Apache-1.1 CDDL-1.0 AFL-2.1 CC-BY-4.0 CC-BY-SA-4.0
  CC-BY-3.0 Elastic-2.0 BUSL-1.1 SSPL-1.0 EUPL-1.2 Ruby Vim PHP-3.01
`;
const debian = '/usr/share/common-licenses';

const modules = process.argv[2] ?? '';
const directory = path.join(modules, 'spdx-license-list');
/** What bundlers wrap around a module. */
const wrappers = `
  (function (global, factory) { typeof exports === 'object' && typeof module !== 'undefined' ?
  factory(exports) : typeof define === 'function' && define.amd ? define(['exports'], factory) :
  (global = typeof globalThis !== 'undefined' ? globalThis : global || self,
  factory(global.name = {})); })(this, (function (exports) { 'use strict';
  !function(e,t){"object"==typeof exports&&"undefined"!=typeof module?module.exports=t():
  "function"==typeof define&&define.amd?define(t):(e="undefined"!=typeof globalThis?globalThis:
  e||self).name=t()}(this,(function(){"use strict";
  ?module.exports=t(require("name")):"function"==typeof define&&define.amd?define(["name"],t):
  (function webpackUniversalModuleDefinition(root, factory) { if(typeof exports === 'object' &&
  typeof module === 'object') module.exports = factory(); else if(typeof define === 'function' &&
  define.amd) define([], factory); else if(typeof exports === 'object') exports["name"] = factory();
  Object.defineProperty(exports, "__esModule", { value: true });
  Object.defineProperties(exports, { __esModule: { value: true }, [Symbol.toStringTag]: { value:
  "Module" } });
  const name = tslib_1.__importDefault(require("name")); const other = tslib_1.__importDefault(
  const name = tslib_1.__importStar(require("name")); const other = tslib_1.__importStar(
  function _interopRequireDefault(obj) { return obj && obj.__esModule ? obj : { default: obj }; }
  http://www.w3.org/2000/svg https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/
  https://developer.mozilla.org/docs/Web/JavaScript/Reference/Global_Objects/
  Object.create(Object.getPrototypeOf(this), Object.getOwnPropertyDescriptors(this))
`;
/** How documents begin. */
const documents = `
  <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
  <html xmlns="http://www.w3.org/1999/xhtml"> <head>
  <meta http-equiv="Content-Type" content="text/html; charset=utf-8"/> <title>
  <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"
  "http://www.w3.org/TR/xhtml1/DTD/xhtml1-strict.dtd">
  <html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en"> <head>
  <meta http-equiv="content-type" content="text/html; charset=ISO-8859-1"> <title>
  <!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">
  <html xmlns="http://www.w3.org/1999/xhtml"> <head>
  <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01 Transitional//EN"
  "http://www.w3.org/TR/html4/loose.dtd"> <html> <head>
  <meta http-equiv="Content-Type" content="text/html; charset=UTF-8">
  <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" "http://www.w3.org/TR/html4/strict.dtd">
  <html> <head> <meta content="text/html; charset=utf-8" http-equiv="Content-Type">
  <!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.0 Transitional//EN"
  "http://www.w3.org/TR/REC-html40/loose.dtd"> <html> <head>
  <!DOCTYPE html> <html lang="en"> <head> <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1.0"> <title>
  <!DOCTYPE html> <html> <head> <meta charset="UTF-8" />
  <meta name="viewport" content="width=device-width, initial-scale=1, shrink-to-fit=no" />
  <meta http-equiv="X-UA-Compatible" content="IE=edge,chrome=1">
  <?xml version="1.0" encoding="UTF-8" standalone="no"?>
  <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
  <svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" version="1.1"
  <?xml version="1.0" encoding="UTF-8"?> <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd"> <plist version="1.0"> <dict> <key>
  <?xml version="1.0" encoding="utf-8"?> <project xmlns="http://maven.apache.org/POM/4.0.0"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation=
  "http://maven.apache.org/POM/4.0.0 http://maven.apache.org/xsd/maven-4.0.0.xsd">
  headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
  headers: { "Content-Type": "application/json; charset=utf-8", Accept: "application/json" }
`;
const { version }: { version: string } = JSON.parse(
  readFileSync(path.join(directory, 'package.json'), 'utf8'),
);
const kept = new Set<number>();
const sources: string[] = [];
for (const id of ids.trim().split(/\s+/)) {
  const file = path.join(directory, 'licenses', `${id}.json`);
  const { licenseText }: { licenseText: string } = JSON.parse(readFileSync(file, 'utf8'));
  add(id, licenseText);
}
if (existsSync(debian)) {
  for (const name of globSync('*', { cwd: debian }).toSorted()) {
    add(`debian:${name}`, readFileSync(path.join(debian, name), 'utf8'));
  }
}
const helpers = ['tslib/tslib.js', '@babel/runtime/helpers/*.js'];
for (const name of globSync(helpers, { cwd: modules }).toSorted()) {
  add(name, readFileSync(path.join(modules, name), 'utf8'));
}
const required = globSync('@babel/runtime/helpers/*.js', { cwd: modules }).map((name) => {
  const helper = path.basename(name, '.js');
  return `var _${helper}2 = _interopRequireDefault(require("@babel/runtime/helpers/${helper}"));`;
});
add('required', required.join('\n'));
add('wrappers', wrappers);
add('documents', documents);
const numbers = Uint32Array.from(kept).toSorted();
const data = {
  about: `tools/license-background.ts, spdx-license-list ${version}, tslib, @babel/runtime`,
  sources: sources.filter((name) => !name.includes('helpers/')).join(' '),
  fingerprints: Buffer.from(numbers.buffer).toString('base64'),
};
const target = path.join(import.meta.dirname, '../src/publish/background-licenses.json');
writeFileSync(target, `${JSON.stringify(data, null, 2)}\n`);
console.log(`${sources.length} texts, ${numbers.length} fingerprints`);

/** Nothing where it does not fit. */
function add(name: string, text: string): void {
  // `<year>`, `[name of copyright owner]`, `{yyyy}`: whoever uses it writes something else there.
  const parts = text.split(/<[^<>\n]{1,60}>|\[[^\][\n]{1,60}\]|\{[^{}\n]{1,60}\}/);
  const found = parts.flatMap((part) => fingerprints(part, text.length));
  const fresh = found.filter((hash) => !kept.has(hash));
  if (kept.size + fresh.length > fingerprintsMax) {
    console.log(`left out ${name}: ${fresh.length}`);
    return;
  }
  for (const hash of fresh) kept.add(hash);
  sources.push(name);
}

/** The smallest hash of each window, the first and the last. */
function fingerprints(part: string, chars: number): number[] {
  const bytes = Buffer.from(part);
  const letters = extractLetters(bytes, 0, bytes.length);
  if (letters.length < gramChars) return [];
  const grams = new GramHashes();
  grams.compute(letters.chars, letters.length);
  const hashes = [...grams.hashes.subarray(0, grams.count)];
  const window = chars > longChars ? windows.long : windows.short;
  const found = new Set([hashes[0] ?? 0, hashes.at(-1) ?? 0]);
  for (let at = 0; at + window <= hashes.length; at += 1) {
    found.add(Math.min(...hashes.slice(at, at + window)));
  }
  return [...found];
}
