// Opening a file by dropping it on the page or choosing it; also the whole page while there is no report yet. The file is read
// in this page and is sent nowhere.

import { button, icon, make } from "../ui/dom";

const WHAT = "a .tacho report, an SQLite export of nsys, or a trace of torch.profiler (.json, .json.gz)";

/** While a file hangs over the page it says so; once dropped it is opened. */
export function listenForFiles(open: (file: File) => void): void {
  const veil = make("div", { class: "veil", hidden: true }, make("div", { class: "veil-box" }, icon("open"), make("strong", {}, "Drop to open"), make("p", {}, WHAT)));
  document.body.append(veil);
  const hasFile = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) veil.hidden = true; // it left the window
  });
  window.addEventListener("drop", (event) => {
    if (!hasFile(event)) return;
    event.preventDefault();
    veil.hidden = true;
    const file = event.dataTransfer?.files[0];
    if (file) open(file);
  });
}

/** A way to the same for those who do not drag. */
export function chooseFile(open: (file: File) => void): void {
  const input = make("input", { type: "file", accept: ".tacho,.sqlite,.json,.gz" });
  input.addEventListener("change", () => {
    const file = input.files?.[0];
    if (file) open(file);
  });
  input.click();
}

/** What the page shows while it has no report, and while one is read. */
export class Welcome {
  private readonly words = make("p", { role: "status" });
  readonly element: HTMLElement;

  constructor(open: (file: File) => void) {
    const choose = button("Choose a file", () => chooseFile(open), { class: "primary" });
    this.element = make("main", { class: "welcome" }, make("h1", {}, "Tacho"), this.words, choose, make("p", { class: "muted" }, "The file is read in this page and not uploaded."));
    this.say(`Drop ${WHAT} here.`);
  }

  say(sentence: string): void {
    this.words.textContent = sentence;
  }
}
