// What anybody writes alike is no evidence; what stands among it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeniedIndex } from '../src/publish/denied-index.ts';

const review = 60;

/** The best score of `text`, where `denied` is the only denied file. */
function scored(denied: string, text = denied): number {
  const index = new DeniedIndex();
  index.put('private/file', Buffer.from(denied));
  return Math.max(0, ...index.match(Buffer.from(text)).map(({ novel }) => novel));
}

const alike = {
  alphabet: 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  accents: 'ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞ',
  months: JSON.stringify(
    'January February March April May June July August September October November December'.split(
      ' ',
    ),
  ),
  keywords:
    '"and|as|assert|begin|class|do|done|else|end|" +\n"exception|external|for|function|if|in"',
  events: JSON.stringify(
    'ondragleave ondragover ondragstart ondrop ondurationchange onended onerror onfocus'.split(' '),
  ),
  cases: Array.from({ length: 30 }, (_, i) => `case ${i + 40}:`).join('\n'),
  address: '// https://developer.mozilla.org/en-US/docs/Web/API/Document/querySelector#syntax',
  directive:
    '// eslint-disable-next-line no-control-regex, no-misleading-character-class, no-undef',
  license:
    '# This file is dual licensed under the terms of the Apache License, Version\n' +
    '# 2.0, and the BSD License. See the LICENSE file in the root of this repository\n',
  notice: '# Copyright 2006-2022 by the authors of the project, see AUTHORS and LICENSE for more',
  document:
    '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN"\n"http://www.w3.org/TR/html4/strict.dtd">',
  markup: '</div></div></div>\n<div class="section"><div><div><h2 class="title"><span class="a">',
};

for (const [name, text] of Object.entries(alike)) {
  test(`${name}: no evidence`, () => assert.ok(scored(text) < review, String(scored(text))));
}

const own = {
  names: '["Zarniwoop","Kestrelhof","Quillfeather","Marbendahl","Ostravik","Pelgrane","Vexholm"]',
  address: 'see https://vault.internal.zarniwoop.example.corp/payouts/kestrelhof-ledger-quill/raw',
  dependency: ['zarniwoop/kestrelhof-ledger', 'quillfeather/payouts', 'ostravik/haircut-plan']
    .map((name) => `"@${name}": "^1.2.3",`)
    .join('\n'),
  numbers: '17.25, 93.11, 40.02, 88.75, 12.09,\n61.33, 70.48, 19.97, 55.06, 23.84,\n90.4, 3.3',
  markup:
    '<b>Zarniwoop takes over Kestrelhof</b>\n<i>cheaper than Quillfeather asked</i>\n' +
    '<i>and before Ostravik knows</i>',
};

for (const [name, text] of Object.entries(own)) {
  test(`${name} of its own: evidence`, () =>
    assert.ok(scored(text) >= review, String(scored(text))));
}

test('what is hidden between known words of a list counts', () => {
  const words = '"form","frame","function","header","image","input","label"';
  const hidden = words.replace('"header"', `"${'Zarniwoop9Kestrelhof'.repeat(4)}"`);
  assert.ok(scored(words) < review);
  assert.ok(scored(hidden) >= review);
});

test('names of exports count though compilers write what is around them', () => {
  const line = (name: string): string =>
    `Object.defineProperty(exports, "${name}", { enumerable: true, get: function () ` +
    `{ return ledger_js_1.${name}; } });`;
  const text = ['settleQuarter', 'haircutOf', 'counterpartyRisk'].map((n) => line(n)).join('\n');
  assert.ok(scored(text) >= review);
});
