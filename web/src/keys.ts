// Every key of the page, in one table: what is pressed, what it does in words, and the command behind it. The help lists this
// table, so a key that is not here does not exist. Modules say with `on` what a command does.

export interface Key {
  group: string;
  keys: readonly string[];
  what: string;
  command: string;
}

/** Letters are written small; "Shift+" and "Alt+" go before them, "Ctrl+" means Command on a Mac. Signs such as ? stand alone. */
export const KEYS = [
  { group: "Move", keys: ["w", "+", "="], what: "Zoom in at the pointer", command: "zoom-in" },
  { group: "Move", keys: ["s", "-"], what: "Zoom out at the pointer", command: "zoom-out" },
  { group: "Move", keys: ["a", "ArrowLeft"], what: "Pan left", command: "pan-left" },
  { group: "Move", keys: ["d", "ArrowRight"], what: "Pan right", command: "pan-right" },
  { group: "Move", keys: ["Shift+a", "Shift+ArrowLeft"], what: "Pan left by a page", command: "page-left" },
  { group: "Move", keys: ["Shift+d", "Shift+ArrowRight"], what: "Pan right by a page", command: "page-right" },
  { group: "Move", keys: ["z", "f"], what: "Zoom to the selected span or event", command: "zoom-selection" },
  { group: "Move", keys: ["0", "Home"], what: "Fit the whole report", command: "fit" },
  { group: "Move", keys: ["[", "Alt+ArrowLeft"], what: "Previous view", command: "view-back" },
  { group: "Move", keys: ["]", "Alt+ArrowRight"], what: "Next view", command: "view-forward" },
  { group: "Rows", keys: ["ArrowUp", "k"], what: "Focus the row above", command: "row-up" },
  { group: "Rows", keys: ["ArrowDown", "j"], what: "Focus the row below", command: "row-down" },
  { group: "Rows", keys: ["PageUp"], what: "Scroll rows up by a page", command: "rows-page-up" },
  { group: "Rows", keys: ["PageDown"], what: "Scroll rows down by a page", command: "rows-page-down" },
  { group: "Rows", keys: ["o"], what: "Fold or unfold the row", command: "row-fold" },
  { group: "Rows", keys: ["Enter"], what: "Fold or unfold the row; on a map of ranks, open the rank", command: "row-open" },
  { group: "Rows", keys: ["Shift+o"], what: "Fold or unfold all rows", command: "rows-fold-all" },
  { group: "Rows", keys: ["e"], what: "Expand or collapse the lanes; for a counter in percent, switch the scale between its maximum and 100 %", command: "row-expand" },
  { group: "Rows", keys: ["p"], what: "Pin or unpin the row", command: "row-pin" },
  { group: "Rows", keys: ["Delete"], what: "Remove query row", command: "row-remove" },
  { group: "Rows", keys: ["Alt+ArrowUp"], what: "Move the row up", command: "row-move-up" },
  { group: "Rows", keys: ["Alt+ArrowDown"], what: "Move the row down", command: "row-move-down" },
  { group: "Rows", keys: ["r"], what: "Filter rows by name", command: "rows-filter" },
  { group: "Rows", keys: ["h"], what: "Hide empty rows", command: "rows-hide-empty" },
  { group: "Events", keys: ["."], what: "Next event of the lane", command: "event-next" },
  { group: "Events", keys: [","], what: "Previous event of the lane", command: "event-previous" },
  { group: "Events", keys: [">"], what: "Next event with the same name", command: "same-next" },
  { group: "Events", keys: ["<"], what: "Previous event with the same name", command: "same-previous" },
  { group: "Events", keys: ["Shift+l"], what: "List the events of the row", command: "list-row" },
  { group: "Events", keys: ["Shift+s"], what: "List the events with the same name", command: "list-same" },
  { group: "Events", keys: ["m"], what: "Select the event's span", command: "span-event" },
  { group: "Events", keys: ["c"], what: "Focus on the event's chain, or show all rows", command: "focus-chain" },
  { group: "Events", keys: ["Shift+m"], what: "Totals of the row in the selected span", command: "select-rows" },
  { group: "Events", keys: ["Escape"], what: "Clear selection, then close the panel, then clear the search", command: "clear" },
  { group: "Panels", keys: ["/", "Ctrl+f"], what: "Search", command: "search" },
  { group: "Panels", keys: ["n"], what: "Next match", command: "match-next" },
  { group: "Panels", keys: ["Shift+n"], what: "Previous match", command: "match-previous" },
  { group: "Panels", keys: ["Shift+v"], what: "Summary", command: "panel-summary" },
  { group: "Panels", keys: ["i"], what: "Details", command: "panel-details" },
  { group: "Panels", keys: ["u"], what: "Events", command: "panel-events" },
  { group: "Panels", keys: ["t"], what: "Tables", command: "panel-tables" },
  { group: "Panels", keys: ["Shift+t"], what: "Steps", command: "panel-steps" },
  { group: "Panels", keys: ["Shift+c"], what: "Compare two runs", command: "panel-compare" },
  { group: "Panels", keys: ["x"], what: "Communication matrix", command: "panel-matrix" },
  { group: "Panels", keys: ["g"], what: "Flame graph", command: "panel-flame" },
  { group: "Panels", keys: ["v"], what: "Advice", command: "panel-advice" },
  { group: "Panels", keys: ["q"], what: "SQL", command: "panel-sql" },
  { group: "Panels", keys: ["b"], what: "Add bookmark", command: "bookmark" },
  { group: "Panels", keys: ["Shift+b"], what: "Show the bookmarks as a story", command: "story" },
  { group: "Panels", keys: ["}", "Shift+PageDown"], what: "Next chapter of the story", command: "chapter-next" },
  { group: "Panels", keys: ["{", "Shift+PageUp"], what: "Previous chapter of the story", command: "chapter-previous" },
  { group: "Panels", keys: ["y"], what: "Copy view as Markdown", command: "copy-markdown" },
  { group: "Panels", keys: ["Shift+y"], what: "Copy link", command: "copy-link" },
  { group: "Panels", keys: ["ContextMenu", "Shift+F10"], what: "Context menu", command: "menu" },
  { group: "Panels", keys: ["Ctrl+k", ":"], what: "Command palette", command: "commands" },
  { group: "Panels", keys: ["Shift+w"], what: "Wheel: zoom or scroll", command: "wheel" },
  { group: "Panels", keys: ["l"], what: "Switch theme: light, dark, system", command: "theme" },
  { group: "Panels", keys: ["?"], what: "Keyboard shortcuts", command: "help" },
] as const satisfies readonly Key[];

/** What the hand does, for the same list. */
export const GESTURES: readonly (readonly [does: string, what: string])[] = [
  ["Wheel", "Zoom at the pointer, or scroll the rows (Shift W); over row names, scroll the rows"],
  ["Shift + wheel", "Pan left and right"],
  ["Alt + wheel", "Scroll the lanes of the row, or the rows"],
  ["Two fingers on a touchpad", "Scroll the rows; pan sideways"],
  ["Pinch, Ctrl + wheel", "Zoom at the pointer"],
  ["Drag", "Select a span; drag its ends to change it"],
  ["Ctrl + drag", "Select a span of several rows, with totals"],
  ["Alt while dragging", "Do not snap to events"],
  ["Shift, Space or middle button + drag", "Pan"],
  ["Shift + click", "Measure from the selected event to this one"],
  ["Right-click", "Open the menu of the event, row or span"],
  ["Click", "Select the event; on empty space, clear the selection; on a map of ranks, open the rank (Ctrl: in a new tab)"],
  ["Double-click", "Zoom to the event; on a row's name, fold or unfold"],
  ["Drag a name", "Reorder the rows of a group"],
  ["Drop a file", "Open it in this page; it is not uploaded"],
];

export type Command = (typeof KEYS)[number]["command"];

const commands = new Map<string, () => void>();
const byKey = new Map<string, Command>();
for (const { keys, command } of KEYS) for (const key of keys) byKey.set(key, command);

/** Says what a command does. */
export function on(command: Command, run: () => void): void {
  commands.set(command, run);
}

/** Does a command, as its key would; a command that nobody provides does nothing. */
export function perform(command: Command): void {
  commands.get(command)?.();
}

/** Whether a command does anything now. */
export const isProvided = (command: Command): boolean => commands.has(command);

/** The way a pressed key is written in the table. */
export function keyOf(event: KeyboardEvent): string {
  const letter = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const shift = event.shiftKey && (event.key.length > 1 || letter !== letter.toUpperCase());
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${shift ? "Shift+" : ""}${letter}`;
}

const TYPING = "input, textarea, select, [contenteditable]";
/** Keys that a focused control needs itself. */
const CONTROL = new Set(["Enter", "ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home", "End", "PageUp", "PageDown"]);

/** Listens to the keyboard. While something is typed, only keys with Ctrl work; a focused control keeps the keys that move it. */
export function listen(target: Document): void {
  target.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing) return;
    const where = event.target instanceof Element ? event.target : null;
    if (where?.matches(TYPING) && !(event.ctrlKey || event.metaKey)) return;
    if (CONTROL.has(event.key) && where?.closest("button, a, summary, [data-own-keys]")) return;
    const command = byKey.get(keyOf(event));
    const run = command && commands.get(command);
    if (!run) return;
    event.preventDefault();
    run();
  });
}
