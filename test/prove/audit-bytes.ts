// npm run prove: each byte of a log of several segments is changed, and each letter of an envelope.
import '../audit-verify.test.ts';
import '../provenance-dsse.test.ts';
