#!/usr/bin/env node
'use strict';
/* oxlint-disable no-var */
// Syntax that any Node reads: an old one must come as far as the sentence that helps.
var wanted = 24;
var found = process.versions.node;
if (Number(found.split('.')[0]) < wanted) {
  var problem = 'trl: needs Node >= ' + wanted + ', found ' + found;
  console.error(problem + '; install a newer one, such as: npm install --global node@24');
  process.exit(125);
}
require('./start.cjs');
