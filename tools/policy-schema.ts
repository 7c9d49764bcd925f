// Writes docs/policy.schema.json from the schema that policy files are read by.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { policyJsonSchema } from '../src/policy/files/schema.ts';

const root = path.dirname(import.meta.dirname);
const file = path.join(root, 'docs/policy.schema.json');
writeFileSync(file, `${JSON.stringify(policyJsonSchema(), null, 2)}\n`);
execFileSync(process.execPath, [path.join(root, 'node_modules/oxfmt/bin/oxfmt'), file]);
