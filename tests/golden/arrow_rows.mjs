// Prints the tables of files of Arrow IPC streams as JSON, a list for each file, as Apache Arrow's own reader for JavaScript
// understands them.
// WEB is the folder with npm's packages. Integers are strings, since they may not fit into a number.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { RecordBatchReader } = createRequire(`${process.env.WEB}/packages.js`)("apache-arrow");

const plain = (value) => (typeof value === "bigint" ? String(value) : value instanceof Uint8Array ? [...value] : value);

const tablesOf = (path) => {
  const tables = [];
  for (const stream of RecordBatchReader.readAll(readFileSync(path))) {
    stream.open();
    const { fields, metadata } = stream.schema;
    const table = { metadata: Object.fromEntries(metadata), columns: [], rows: [], batches: 0 };
    for (const { name, type, metadata } of fields) table.columns.push({ name, type: String(type), note: metadata.get("field_desc") ?? null });
    for (const batch of stream) {
      const columns = fields.map((_, i) => batch.getChildAt(i));
      for (let row = 0; row < batch.numRows; row++) table.rows.push(columns.map((column) => plain(column.get(row))));
      table.batches++;
    }
    tables.push(table);
  }
  return tables;
};
process.stdout.write(JSON.stringify(process.argv.slice(2).map(tablesOf)));
