// What the page remembers of a reader's habits between visits: sizes, chosen reports, the history of statements. Storage may be
// forbidden (pages from disk, private windows); then it is forgotten, and nothing else happens.

const PREFIX = "tacho.";

export function recall<Value>(name: string, fits: (value: unknown) => value is Value, otherwise: Value): Value {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(PREFIX + name) ?? "null");
    return fits(value) ? value : otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(name: string, value: unknown): void {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // not remembered
  }
}

export const isText = (value: unknown): value is string => typeof value === "string";
export const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);
export const isTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(isText);
