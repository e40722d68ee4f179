// Counts visits by month with csv-parse and moment.
'use strict';
const fs = require('fs');
const { parse } = require('csv-parse/sync');
const moment = require('moment');

const months = new Map();
const rows = parse(fs.readFileSync(process.argv[2]), { columns: true });
for (const row of rows) {
  const month = moment(row.time, 'DD.MM.YYYY HH:mm').format('YYYY-MM');
  months.set(month, (months.get(month) || 0) + 1);
}
console.log(rows.length, months.size, months.get('2020-05'));
