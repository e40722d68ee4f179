// The banner above everything while the server does not answer: it asks again by itself, and at once on Retry. When the server is back with
// the same report, the page goes on where it was; with another one, it is loaded anew.

import type { App } from "../../app";
import { HttpEngine } from "../../engine/http";
import { button, make } from "../../ui/dom";

const AGAIN_MS = 2_000;

export class LostBanner {
  private readonly words = make("span", {});
  private readonly element = make("div", { class: "lost-banner", role: "alert", hidden: true });
  private timer = 0;

  constructor(private readonly app: App, home: HTMLElement) {
    const { engine } = app.state;
    if (!(engine instanceof HttpEngine)) return;
    this.element.append(this.words, button("Retry", () => void this.retry(engine), { class: "primary" }));
    home.append(this.element);
    engine.watch((lost) => this.show(engine, lost));
  }

  private show(engine: HttpEngine, lost: boolean): void {
    clearInterval(this.timer);
    this.element.hidden = !lost;
    if (!lost) return;
    this.words.textContent = `The server does not answer. Start it again: tacho view ${this.app.state.about.name.slice(0, 200)}`;
    this.timer = window.setInterval(() => void this.retry(engine), AGAIN_MS);
  }

  private async retry(engine: HttpEngine): Promise<void> {
    const answer = await engine.retry();
    if (answer === null || this.element.isConnected === false) return;
    if (answer instanceof Error) {
      this.words.textContent = `A different server answers at this address: ${answer.message}`;
      return;
    }
    const { about, event } = this.app.state;
    if (answer.origin !== about.origin || answer.events !== about.events) {
      location.reload();
      return;
    }
    this.app.redraw();
    if (event && !this.app.state.details) this.app.select(event);
  }
}
