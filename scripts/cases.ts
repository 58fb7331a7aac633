import { readFileSync, writeFileSync } from 'node:fs'
import { fillIn, readTests } from '../test/fixtures/cases.js'

/* Writes into docs/cases.md by which tests each case is shown. */

const path = new URL('../docs/cases.md', import.meta.url)
writeFileSync(path, fillIn(readFileSync(path, 'utf8'), readTests()))
