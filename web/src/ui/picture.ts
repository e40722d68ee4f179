// PNG and SVG of what is on the screen. Whoever draws hands over a function that draws onto a Surface; this file only chooses
// the surface and gives the file to the browser.

import { SvgSurface, type Surface } from "./surface";

/** Something that can be drawn again at its present size, in CSS pixels. */
export interface Drawing {
  width: number;
  height: number;
  title: string;
  draw(surface: Surface): void;
}

function svgOf(drawing: Drawing): string {
  const surface = new SvgSurface(drawing.width, drawing.height);
  drawing.draw(surface);
  return surface.document(drawing.title);
}

/** At least twice the size in CSS pixels, so that it is sharp in a document. */
async function pngOf(drawing: Drawing): Promise<Blob> {
  const scale = Math.max(2, window.devicePixelRatio);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil(drawing.width * scale);
  canvas.height = Math.ceil(drawing.height * scale);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("Cannot save the picture: this browser has no canvas.");
  context.scale(scale, scale);
  drawing.draw(context);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("Cannot save the picture: it is too large for this browser."))), "image/png"),
  );
}

export function save(name: string, content: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export async function savePicture(drawing: Drawing, type: "png" | "svg", name: string): Promise<void> {
  const blob = type === "svg" ? new Blob([svgOf(drawing)], { type: "image/svg+xml" }) : await pngOf(drawing);
  save(`${name}.${type}`, blob);
}
