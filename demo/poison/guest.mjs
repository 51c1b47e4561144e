// Somebody else's server: node guest.mjs SUITE, a suite of guests.mjs.
import {serve} from './mcp.mjs';
import {suites, toolsOf} from './guests.mjs';

const suite = suites[process.argv[2]];
if (!suite) {
  console.error(`usage: node guest.mjs SUITE, one of ${Object.keys(suites).join(', ')}`);
  process.exit(2);
}
serve(process.argv[2], suite.flatMap(toolsOf));
