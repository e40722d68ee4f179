// Making elements. Text goes in as text nodes only: what a report holds can never become markup, since nothing here or above
// parses any (a check of the house looks for the ways round this).

export type Child = Node | string;
type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** An element with attributes (true: present, false or undefined: absent) and children. */
export function make<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  assign(element, attributes);
  element.append(...children);
  return element;
}

function assign(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

const ICONS = {
  close: "M4 4l8 8M12 4l-8 8",
  right: "M2.5 3h11v10h-11zM10 3v10",
  bottom: "M2.5 3h11v10h-11zM2.5 9.5h11",
  search: "M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 0 0 0-9M10.3 10.3L14 14",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  picture: "M2.5 3h11v10h-11zM2.5 11l3.5-4 3 3 2-2 2.5 2.5M10.8 5.7h.01",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  help: "M5.8 6.2a2.3 2.3 0 1 1 3.3 2c-.8.4-1.1.8-1.1 1.6M8 12.3v.01",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  flame: "M2 13h12M3 9.7h10M5 6.4h6M7 3.1h2",
  flip: "M5 13V3M2.5 5.5L5 3l2.5 2.5M11 3v10M8.5 10.5L11 13l2.5-2.5",
  bookmark: "M4.5 2.5h7v11L8 10.5l-3.5 3z",
  remove: "M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M7 7v4M9 7v4",
  warning: "M8 2.5L14.5 13.5H1.5zM8 6.5v3.5M8 11.8v.01",
  open: "M2 12.5v-9h4l1.5 2h6.5v7z",
  fold: "M6 4l4 4-4 4",
  back: "M10 4l-4 4 4 4",
  pin: "M5.5 2.5h5l-.8 4.2 2.3 2.3H4l2.3-2.3zM8 9v5",
} as const;
export type Icon = keyof typeof ICONS;

const SVG = "http://www.w3.org/2000/svg";

/** A line drawing in the colour of the text; the control that holds it has the words. */
export function icon(name: Icon): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  assign(svg, { class: "icon", viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true" });
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

interface ButtonLook {
  icon?: Icon;
  /** What it does, where the words on it (or the lack of them) do not say. */
  title?: string;
  class?: string;
  pressed?: boolean;
}

export function button(words: string, run: (event: MouseEvent) => void, look: ButtonLook = {}): HTMLButtonElement {
  const element = make("button", {
    type: "button",
    class: `button ${look.class ?? ""}`.trim(),
    title: look.title,
    "aria-label": words === "" ? look.title : undefined,
    "aria-pressed": look.pressed === undefined ? undefined : String(look.pressed),
  });
  if (look.icon) element.append(icon(look.icon));
  if (words !== "") element.append(words);
  element.addEventListener("click", run);
  return element;
}

/** A choice of a few values with a label for those who cannot see it. */
export function choice<Value extends string>(
  label: string,
  values: readonly (readonly [value: Value, words: string])[],
  now: Value,
  run: (value: Value) => void,
): HTMLSelectElement {
  const element = make("select", { class: "choice", "aria-label": label, title: label });
  for (const [value, words] of values) element.append(make("option", { value }, words));
  element.value = now;
  element.addEventListener("change", () => {
    const chosen = values.find(([value]) => value === element.value);
    if (chosen) run(chosen[0]);
  });
  return element;
}

export function textbox(label: string, run: (text: string) => void): HTMLInputElement {
  const element = make("input", { type: "text", class: "textbox", "aria-label": label, placeholder: label, spellcheck: "false", autocomplete: "off" });
  element.addEventListener("input", () => run(element.value));
  return element;
}
