'use strict';
// Apart from trl.cjs, which Nodes read that do not know this syntax.
// What Node warns of is for who builds this.
process.removeAllListeners('warning');
void import('./cli.js');
