// node gzip.mjs FILE: packs FILE into FILE.gz, the same bytes whenever and wherever it is done.
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const [, , file] = process.argv;
writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
