// The line above the timeline: what report this is, the search, and the few things that belong to no panel.

import type { App } from "../app";
import { perform } from "../keys";
import { count, duration } from "../units";
import { button, choice, icon, make } from "../ui/dom";
import { chooseFile } from "./drop";
import { savePicture } from "../ui/picture";
import type { SearchBox } from "./search";
import { line } from "../ui/text";

const THEMES = [["system", "System"], ["light", "Light"], ["dark", "Dark"]] as const;

export class Toolbar {
  constructor(private readonly search: SearchBox, private readonly about: () => void, private readonly open: (file: File) => void) {}

  mount(element: HTMLElement, app: App): void {
    element.classList.add("toolbar");
    element.setAttribute("role", "toolbar");
    element.setAttribute("aria-label", "Report");
    element.append(this.report(app));
    this.search.mount(element, app);
    element.append(make("span", { class: "spacer" }), this.theme(app), ...this.buttons(app));
  }

  private report(app: App): HTMLElement {
    const { about } = app.state;
    const box = button("", () => this.about(), { class: "report", title: "About this report" });
    box.removeAttribute("aria-label"); // its text says it
    box.append(line(about.name), make("span", { class: "muted" }, `${duration(about.to - about.from)}, ${count(about.events)} events`));
    if (about.warnings.length > 0) {
      const words = about.warnings.length === 1 ? "1 warning" : `${count(about.warnings.length)} warnings`;
      box.append(icon("warning"), make("span", { class: "warn" }, words));
    }
    return box;
  }

  private theme(app: App): HTMLElement {
    const select = choice("Colour theme", THEMES, app.state.theme, (theme) => app.set({ theme }));
    app.listen((changed) => {
      if (changed.has("theme")) select.value = app.state.theme;
    });
    return select;
  }

  private buttons(app: App): HTMLElement[] {
    const save = (type: "png" | "svg") => (): void => {
      const drawing = app.picture?.();
      if (drawing) savePicture(drawing, type, app.state.about.name.replace(/\.[^.]*$/, "") || "timeline").catch((error: Error) => app.fail(error));
    };
    return [
      button("PNG", save("png"), { icon: "picture", title: "Save the visible timeline as PNG", class: "quiet" }),
      button("SVG", save("svg"), { title: "Save the visible timeline as SVG", class: "quiet" }),
      button("", () => perform("copy-markdown"), { icon: "copy", title: "Copy view as Markdown (Y)", class: "quiet" }),
      button("Link", () => perform("copy-link"), { title: "Copy link (Shift Y)", class: "quiet" }),
      button("", () => chooseFile(this.open), { icon: "open", title: "Open another report", class: "quiet" }),
      button("", () => perform("help"), { icon: "help", title: "Keyboard shortcuts (?)", class: "quiet" }),
    ];
  }
}
