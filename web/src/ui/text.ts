// Names and texts of a report as a person may read them: always text, isolated from what stands around them (right-to-left
// names must not turn the line), cut where they are endless, copyable whole.

import { button, make } from "./dom";

/** The first characters of a text, never half of one. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const code = text.charCodeAt(length - 1);
  return `${text.slice(0, code >= 0xd800 && code < 0xdc00 ? length - 1 : length)}…`;
}

/** Where a frame is in the program: "train.py:12", or the library; "" where it is not known. */
export function whereOf({ file, line: number, module }: { file?: string; line?: number; module?: string }): string {
  if (file) return number ? `${file}:${number}` : file;
  return module ?? "";
}

/** A name on one line; CSS cuts what does not fit, the title has more of it. */
export function line(text: string): HTMLElement {
  const shown = text === "" ? "(no name)" : cut(text.replace(/\s+/g, " "), 300);
  return make("bdi", { dir: "auto", class: "line", title: text.length > 30 ? cut(text, 1_000) : undefined }, shown);
}

/** A whole text in a block that can be selected; a very long one is cut until it is asked for. */
export function whole(text: string, className = "whole", most = 2_000): HTMLElement {
  const block = make("bdi", { dir: "auto", class: className }, cut(text, most));
  if (text.length <= most) return block;
  const box = make("div", { class: "cut" }, block);
  const more = button(`Show all ${Math.ceil(text.length / 1024)} KB`, () => {
    block.textContent = text;
    block.classList.add("tall");
    block.tabIndex = 0; // it scrolls, so that the keyboard must reach it
    more.remove();
  });
  box.append(more);
  return box;
}

/** Puts text on the clipboard; pages from disk may not have the modern way. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "offscreen", "aria-hidden": "true" });
    area.value = text;
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("Cannot copy: the browser denies access to the clipboard. Select the text and copy it by hand.");
  }
}

export function copyButton(what: string, text: () => string, fail: (error: Error) => void): HTMLButtonElement {
  const element = button("", () => copy(text()).then(done, fail), { icon: "copy", title: what, class: "quiet" });
  const done = (): void => {
    element.classList.add("done");
    setTimeout(() => element.classList.remove("done"), 900);
  };
  return element;
}
