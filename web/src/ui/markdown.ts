// Markdown for issue trackers. Whatever a report contains stands in code spans, where trackers interpret nothing: no markup, no
// links, no mentions of people.

/** One line, without the marks that isolate a text on the screen. */
const flat = (text: string): string => text.replace(/[\u2066-\u2069]/g, "").replace(/\u202f/g, "\u00a0").replace(/\s+/g, (space) => (space === "\u00a0" ? space : " ")).trim();

/** Every sign that could mean something, as an entity. */
const entities = (text: string): string => text.replace(/[^\w\s.,:;=+-]/gu, (sign) => `&#${sign.codePointAt(0)!};`);

/** A text as code. Code spans know no escapes, so that a text with backticks, or with a backslash before a pipe (which ends the cell
 * of a table in some readers), is written in entities. */
export function code(text: string): string {
  const line = flat(text);
  if (line === "") return "";
  if (/[`\\]/.test(line)) return `<code>${entities(line)}</code>`;
  return `\`${line}\``;
}

/** Words of this page: numbers with their units. */
export const plain = (text: string): string => flat(text).replace(/[\\`*_[\]<>|~&]/g, (sign) => `&#${sign.codePointAt(0)!};`);

const wide = (text: string): number => [...text].length;

export interface MarkdownColumn {
  title: string;
  /** On the right, and as it is. */
  numeric: boolean;
}

/** A table whose columns are aligned, so that it can be read as text too. */
export function markdownTable(columns: readonly MarkdownColumn[], rows: readonly (readonly string[])[]): string {
  const cell = (text: string, numeric: boolean): string => (numeric ? plain(text) : code(text)).replaceAll("|", "\\|");
  const lines = [columns.map(({ title }) => plain(title)), ...rows.map((row) => columns.map(({ numeric }, at) => cell(row[at] ?? "", numeric)))];
  const widths = columns.map((_, at) => Math.min(80, lines.reduce((most, line) => Math.max(most, wide(line[at]!)), 3)));
  const padded = (line: readonly string[]): string =>
    `| ${line.map((text, at) => {
      const air = " ".repeat(Math.max(0, widths[at]! - wide(text)));
      return columns[at]!.numeric ? air + text : text + air;
    }).join(" | ")} |`;
  const rule = `| ${columns.map(({ numeric }, at) => (numeric ? `${"-".repeat(widths[at]! - 1)}:` : "-".repeat(widths[at]!))).join(" | ")} |`;
  return [padded(lines[0]!), rule, ...lines.slice(1).map(padded)].join("\n") + "\n";
}
