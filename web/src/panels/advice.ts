// What the rules of `tacho analyze` and the largest gaps found, each explained once, with the places where it is so. The engine
// lists the rules in their order: what could gain the most time first, causes outside of the program last.

import type { App, Change } from "../app";
import type { Advice } from "../engine/engine";
import { count, duration, moment } from "../units";
import { button, make } from "../ui/dom";
import { Panel } from "./panel";
import { whole } from "../ui/text";

type Place = Advice["advice"][number];

const FEW = 10;

/** Up to so many events the rules are a matter of a second; above it the timeline would wait for them. */
export const ADVICE_UNASKED = 20_000_000;

export function askForAdvice(app: App): Promise<void> {
  return app.state.engine.advice().then((advice) => app.set({ advice }), (error: Error) => app.fail(error));
}

/** The rules that found something, in the engine's order, each with its places, the most first, and the time that all of them could
 * gain, also of those that are not listed. */
export function byImpact({ advice, rules }: Pick<Advice, "advice" | "rules">): { name: string; places: Place[]; impact: number }[] {
  const found = new Map<string, Place[]>();
  for (const place of advice) found.set(place.rule, [...(found.get(place.rule) ?? []), place]);
  return rules
    .map(({ name, impact }) => ({ name, places: (found.get(name) ?? []).sort((a, b) => b.impact - a.impact), impact }))
    .filter(({ places }) => places.length > 0);
}

export class AdvicePanel extends Panel {
  readonly name = "advice";
  readonly title = "Advice";
  protected readonly shows: readonly Change[] = ["advice"];
  private asked = false;

  protected build(): void {
    this.asked = this.app.state.about.events <= ADVICE_UNASKED;
  }

  protected draw(): void {
    const { advice } = this.app.state;
    if (!advice && !this.asked) this.element.replaceChildren(make("p", { class: "empty" }, "This report is large: the timeline pauses while the rules run. ", this.askButton()));
    else if (!advice) this.element.replaceChildren(make("p", { class: "empty" }, "Running the rules…"));
    else this.element.replaceChildren(...this.found(advice), this.quiet(advice), this.unchecked(advice));
  }

  private askButton(): HTMLElement {
    return button("Run the rules", () => {
      this.asked = true;
      this.draw();
      void askForAdvice(this.app);
    });
  }

  private found(advice: Advice): HTMLElement[] {
    if (advice.advice.length === 0) return [make("p", { class: "empty" }, advice.rules.length === 0 ? "Nothing was checked: the report has no data that a rule looks at." : "No findings: the rules found nothing to improve.")];
    return byImpact(advice).map(({ name, places, impact }, index) => {
      const rule = advice.rules.find((candidate) => candidate.name === name);
      const total = rule?.count ?? places.length;
      const badges = [make("span", { class: "badge", title: "So many places" }, count(total))];
      if (impact > 0) badges.push(make("span", { class: "muted number", title: "Upper bound of the time saved" }, `up to ${duration(impact)}`));
      const head = make("summary", {}, make("strong", {}, rule?.title ?? places[0]?.title ?? name), ...badges);
      const box = make("details", { class: "rule", open: index === 0 }, head);
      if (rule?.advice) box.append(make("p", { class: "rule-text" }, rule.advice));
      box.append(this.places(places, rule?.advice ?? ""));
      return box;
    });
  }

  private places(places: readonly Place[], rule: string): HTMLElement {
    const list = make("ul", { class: "links" });
    const add = (some: readonly Place[]): void => list.append(...some.map((place) => make("li", {}, this.place(place, rule))));
    add(places.slice(0, FEW));
    if (places.length > FEW) {
      const more = button(`All ${count(places.length)}`, () => {
        more.parentElement?.remove();
        add(places.slice(FEW));
      }, { class: "quiet" });
      list.append(make("li", {}, more));
    }
    return list;
  }

  /** What is so here alone: the advice of the rule stands above already. */
  private place(place: Place, rule: string): HTMLElement {
    const text = (place.text || place.title).replace(rule, "").trim();
    const element = button("", () => this.goTo(place), { class: "event" });
    element.append(whole(text || place.title, "finding"), make("span", { class: "muted number" }, `${duration(place.to - place.from)} at ${moment(place.from)}`));
    return element;
  }

  private goTo(place: Place): void {
    if (place.row >= 0 && place.event >= 0) {
      this.app.select(place, { row: place.row, event: place.event, name: place.title, from: place.from, to: place.to });
      return;
    }
    const span = { from: place.from, to: place.to };
    this.app.set({ span, view: this.app.around(span) });
  }

  /** The rules that found nothing: that they looked is worth knowing. */
  private quiet(advice: Advice): HTMLElement {
    const rules = advice.rules.filter((rule) => rule.count === 0);
    const list = make("ul", {}, ...rules.map((rule) => make("li", {}, rule.title)));
    const box = make("details", { class: "rule quiet", hidden: rules.length === 0 }, make("summary", {}, rules.length === 1 ? "1 rule found nothing" : `${count(rules.length)} rules found nothing`), list);
    return box;
  }

  /** The rules without data, and how to record it: nothing may be wrong there, or much. */
  private unchecked({ rules, unchecked }: Advice): HTMLElement {
    const list = make("ul", {}, ...unchecked.map(({ title, data, option }) => make("li", {}, `${title}: the report has no ${data}. `, ...(option ? ["Record it with ", make("code", {}, option), "."] : []))));
    return make("details", { class: "rule quiet unchecked", hidden: unchecked.length === 0, open: rules.length === 0 }, make("summary", {}, unchecked.length === 1 ? "1 rule was not checked" : `${count(unchecked.length)} rules were not checked`), list);
  }
}
