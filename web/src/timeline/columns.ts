// Thin things, drawn by the pixel: what is narrower than two pixels goes into one line of pixels per lane, which is stretched
// to the lane's height. So a lane of ten thousand events costs one copy, not ten thousand calls.

import type { Surface } from "../ui/surface";

interface Lane {
  y: number;
  height: number;
}

export class Columns {
  private pixels = new Uint32Array(0);
  private lanes: Lane[] = [];
  private width = 0;
  private ratio = 1;
  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d", { willReadFrequently: true });

  /** Starts a picture that is so many CSS pixels wide, with so many device pixels for each. */
  begin(width: number, ratio: number): void {
    this.ratio = ratio;
    this.width = Math.ceil(width * ratio);
    this.pixels.fill(0, 0, this.lanes.length * this.width);
    this.lanes = [];
  }

  /** Adds a lane and returns its number for `put`. */
  lane(y: number, height: number): number {
    this.lanes.push({ y, height });
    const needed = this.lanes.length * this.width;
    if (this.pixels.length < needed) {
      const larger = new Uint32Array(Math.max(needed, this.pixels.length * 2));
      larger.set(this.pixels);
      this.pixels = larger;
    }
    return this.lanes.length - 1;
  }

  /** Colours a stretch in CSS pixels, at least one device pixel wide; of two on one pixel the stronger is seen. */
  put(lane: number, from: number, to: number, colour: number, alpha: number): void {
    const first = Math.max(0, Math.floor(from * this.ratio));
    const last = Math.min(this.width, Math.max(first + 1, Math.round(to * this.ratio)));
    const word = (colour | (alpha << 24)) >>> 0;
    const base = lane * this.width;
    for (let x = first; x < last; x++) {
      if (this.pixels[base + x]! >>> 24 <= alpha) this.pixels[base + x] = word;
    }
  }

  /** To the screen. */
  toCanvas(target: CanvasRenderingContext2D): void {
    const height = this.lanes.length;
    if (height === 0 || this.width === 0 || !this.context) return;
    if (this.canvas.width !== this.width || this.canvas.height < height) {
      this.canvas.width = this.width;
      this.canvas.height = Math.ceil(height / 32) * 32;
    }
    const bytes = new Uint8ClampedArray(this.pixels.buffer, 0, this.width * height * 4);
    this.context.putImageData(new ImageData(bytes, this.width, height), 0, 0);
    target.imageSmoothingEnabled = false;
    this.lanes.forEach((lane, i) => target.drawImage(this.canvas, 0, i, this.width, 1, 0, lane.y, this.width / this.ratio, lane.height));
  }

  /** To paper: runs of one colour as rectangles. */
  toSurface(target: Surface): void {
    this.lanes.forEach((lane, i) => {
      const base = i * this.width;
      for (let x = 0; x < this.width; ) {
        const word = this.pixels[base + x]!;
        let end = x + 1;
        while (end < this.width && this.pixels[base + end] === word) end++;
        if (word !== 0) {
          target.fillStyle = `rgb(${word & 255} ${(word >> 8) & 255} ${(word >> 16) & 255})`;
          target.globalAlpha = (word >>> 24) / 255;
          target.fillRect(x / this.ratio, lane.y, (end - x) / this.ratio, lane.height);
        }
        x = end;
      }
    });
    target.globalAlpha = 1;
  }
}
