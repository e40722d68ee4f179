// The distance between two events: from start to start, and from the end of the first to the start of the second.

import type { App } from "../../app";
import { button, make } from "../../ui/dom";
import { line } from "../../ui/text";
import { duration } from "../../units";

export class MeasureBox {
  private readonly element = make("div", { class: "measure", role: "status", hidden: true });

  constructor(private readonly app: App, home: HTMLElement) {
    home.append(this.element);
    app.listen((changed) => {
      if (changed.has("measure")) this.show();
    });
  }

  private show(): void {
    const { measure } = this.app.state;
    this.element.hidden = measure === null;
    if (!measure) return;
    const { from, to } = measure;
    const fact = (words: string, ns: number): HTMLElement => make("span", { class: "number" }, `${words} `, make("strong", {}, duration(ns)));
    const close = button("", () => this.app.set({ measure: null }), { icon: "close", title: "Close (Escape)", class: "quiet" });
    this.element.replaceChildren(line(from.name), " → ", line(to.name), fact("start to start", to.from - from.from), fact("end to start", to.from - from.to), close);
  }
}
