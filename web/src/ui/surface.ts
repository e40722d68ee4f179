// What a picture of the timeline may be drawn on: the few calls of a 2D canvas that drawing needs. A canvas is one; SvgSurface
// writes the same calls down as SVG, so that what is exported is what is drawn. Text is escaped here and nowhere else.

export type Surface = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "save" | "restore" | "translate"
  | "fillRect" | "strokeRect" | "beginPath" | "closePath" | "moveTo" | "lineTo" | "bezierCurveTo" | "arc" | "rect"
  | "fill" | "stroke" | "clip" | "fillText" | "measureText"
>;

type Fill = CanvasRenderingContext2D["fillStyle"];

interface Style {
  fillStyle: Fill;
  strokeStyle: Fill;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  x: number;
  y: number;
  clip: string | null;
}

const BASELINES: Partial<Record<CanvasTextBaseline, string>> = { middle: "central", top: "text-before-edge", hanging: "hanging", bottom: "text-after-edge" };
const ANCHORS: Partial<Record<CanvasTextAlign, string>> = { center: "middle", right: "end", end: "end" };

/** Text for XML: markup escaped, and what XML cannot hold at all (control characters, halves of pairs) replaced. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

export class SvgSurface implements Surface {
  fillStyle: Fill = "#000";
  strokeStyle: Fill = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  font = "10px sans-serif";
  textAlign: CanvasTextAlign = "start";
  textBaseline: CanvasTextBaseline = "alphabetic";

  private parts: string[] = [];
  private clips = 0;
  private path: string[] = [];
  private stack: Style[] = [];
  private x = 0;
  private y = 0;
  private clipped: string | null = null;
  private readonly ruler = document.createElement("canvas").getContext("2d");

  constructor(private readonly width: number, private readonly height: number) {}

  /** The document, with a title for those who cannot see it. */
  document(title: string): string {
    const size = `width="${number(this.width)}" height="${number(this.height)}" viewBox="0 0 ${number(this.width)} ${number(this.height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img"><title>${escapeXml(title)}</title>\n${this.parts.join("\n")}\n</svg>\n`;
  }

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, x, y } = this;
    this.stack.push({ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, x, y, clip: this.clipped });
  }

  restore(): void {
    const style = this.stack.pop();
    if (!style) return;
    const { clip, ...rest } = style;
    Object.assign(this, rest);
    this.clipped = clip;
  }

  translate(x: number, y: number): void {
    this.x += x;
    this.y += y;
  }

  beginPath(): void {
    this.path = [];
  }
  closePath(): void {
    this.path.push("Z");
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${this.at(x, y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`${this.path.length > 0 ? "L" : "M"}${this.at(x, y)}`);
  }
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path.push(`C${this.at(x1, y1)} ${this.at(x2, y2)} ${this.at(x, y)}`);
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(`M${this.at(x, y)}L${this.at(x + width, y)}L${this.at(x + width, y + height)}L${this.at(x, y + height)}Z`);
  }
  arc(x: number, y: number, radius: number, from: number, to: number, counterclockwise = false): void {
    const sweep = counterclockwise ? 0 : 1;
    const r = `${number(radius)} ${number(radius)}`;
    const point = (angle: number) => this.at(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    this.path.push(`${this.path.length > 0 ? "L" : "M"}${point(from)}`);
    if (Math.abs(to - from) >= 2 * Math.PI) {
      this.path.push(`A${r} 0 1 ${sweep} ${point(from + Math.PI)}A${r} 0 1 ${sweep} ${point(from)}`);
    } else {
      this.path.push(`A${r} 0 ${Math.abs(to - from) > Math.PI ? 1 : 0} ${sweep} ${point(to)}`);
    }
  }

  fill(): void {
    this.add(`<path d="${this.path.join("")}" fill="${this.colour(this.fillStyle)}"`);
  }
  stroke(): void {
    this.add(`<path d="${this.path.join("")}" fill="none"${this.outline()}`);
  }
  clip(): void {
    const id = `clip${++this.clips}`;
    const inside = this.clipped ? ` clip-path="url(#${this.clipped})"` : "";
    this.parts.push(`<clipPath id="${id}"${inside}><path d="${this.path.join("")}"/></clipPath>`);
    this.clipped = id;
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.add(`<rect ${this.box(x, y, width, height)} fill="${this.colour(this.fillStyle)}"`);
  }
  strokeRect(x: number, y: number, width: number, height: number): void {
    this.add(`<rect ${this.box(x, y, width, height)} fill="none"${this.outline()}`);
  }

  measureText(text: string): TextMetrics {
    if (!this.ruler) throw new Error("Cannot save the picture: this browser cannot measure text.");
    this.ruler.font = this.font;
    return this.ruler.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    if (text === "") return;
    const [, size = "10px", family = "sans-serif"] = /([\d.]+px)(?:\/\S+)?\s+(.*)$/.exec(this.font) ?? [];
    const weight = /^(bold|[1-9]00)\b/.exec(this.font)?.[1];
    const anchor = ANCHORS[this.textAlign];
    const baseline = BASELINES[this.textBaseline];
    const [left, top] = this.at(x, y).split(" ");
    this.add(
      `<text x="${left}" y="${top}" font-size="${size}" font-family="${escapeXml(family)}"${weight ? ` font-weight="${weight}"` : ""}` +
        `${anchor ? ` text-anchor="${anchor}"` : ""}${baseline ? ` dominant-baseline="${baseline}"` : ""} fill="${this.colour(this.fillStyle)}" xml:space="preserve"`,
      escapeXml(text),
    );
  }

  private at(x: number, y: number): string {
    return `${number(this.x + x)} ${number(this.y + y)}`;
  }

  private box(x: number, y: number, width: number, height: number): string {
    const [left, top] = [width < 0 ? x + width : x, height < 0 ? y + height : y];
    const [x0, y0] = this.at(left, top).split(" ");
    return `x="${x0}" y="${y0}" width="${number(Math.abs(width))}" height="${number(Math.abs(height))}"`;
  }

  private outline(): string {
    return ` stroke="${this.colour(this.strokeStyle)}" stroke-width="${number(this.lineWidth)}"`;
  }

  /** Gradients and patterns have no name; a picture shows them as grey. */
  private colour(style: Fill): string {
    return typeof style === "string" ? escapeXml(style) : "#888";
  }

  private add(open: string, text?: string): void {
    const alpha = this.globalAlpha < 1 ? ` opacity="${number(this.globalAlpha)}"` : "";
    const clip = this.clipped ? ` clip-path="url(#${this.clipped})"` : "";
    this.parts.push(text === undefined ? `${open}${alpha}${clip}/>` : `${open}${alpha}${clip}>${text}</text>`);
  }
}
