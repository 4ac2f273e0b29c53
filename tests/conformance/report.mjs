// What did not pass in a run of the suite.
//
// node report.mjs FOLDER   FOLDER is what the suite's `-o` wrote: one folder a scenario with its checks.
import { readFileSync, readdirSync } from 'node:fs';

// The most that is shown of what a check knows, in characters.
const LIMIT = 600;

const [folder] = process.argv.slice(2);
for (const scenario of readdirSync(folder).sort()) {
  const checks = JSON.parse(readFileSync(`${folder}/${scenario}/checks.json`, 'utf8'));
  for (const { id, status, errorMessage, details } of checks) {
    if (status !== 'FAILURE' && status !== 'WARNING') continue;
    const name = scenario.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
    console.log(`  ${status} ${name}: ${id}: ${errorMessage ?? 'no message'}`);
    if (details) console.log(`    ${JSON.stringify(details).slice(0, LIMIT)}`);
  }
}
