// Writes docs/schemas/command-v1.json from the schema that statements are checked by.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { statementJsonSchema } from '../src/provenance/predicate.ts';

const root = path.dirname(import.meta.dirname);
const file = path.join(root, 'docs/schemas/command-v1.json');
writeFileSync(file, `${JSON.stringify(statementJsonSchema(), null, 2)}\n`);
execFileSync(process.execPath, [path.join(root, 'node_modules/oxfmt/bin/oxfmt'), file]);
