// @ts-check
// Prints what a reader of src pays: sizes, imports, functions. Nothing fails; the figures are looked at in review.
//   node scripts/house.mjs [--chains] [--lists] [folder]
// --chains: also the files and functions of the longest chains; --lists: the files and functions with one importer or caller
import { join, resolve } from 'node:path';
import { root } from './ensure.mjs';
import { figuresOf } from './house/figures.mjs';
import { readTree } from './house/source-tree.mjs';

const options = process.argv.slice(2);
const folder = options.find((option) => !option.startsWith('--'));
const figures = figuresOf(readTree(resolve(folder ?? join(root, 'src'))));

const rows = [
  { name: 'what a reader pays', value: 'now', aim: 'aim', hono: 'hono', pepr: 'pepr' },
  ...figures,
];
for (const row of rows)
  console.log(
    [row.name.padEnd(46), ...[row.value, row.aim, row.hono, row.pepr].map((cell) => cell.padStart(6))].join(
      ' ',
    ),
  );
if (options.includes('--lists'))
  for (const { name, list } of figures) if (list) console.log(`\n${name}:\n  ${list.join('\n  ')}`);
if (options.includes('--chains'))
  for (const { name, where } of figures)
    if (where) console.log(`\n${name}:\n  ${where.replaceAll(' > ', '\n  ')}`);
