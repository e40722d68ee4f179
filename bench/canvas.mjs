#!/usr/bin/env node
// Three ways to draw the same dense picture (50 lanes of 1,500 thin events and 30 wide ones with a name each) in a browser: thin
// ones as lines of pixels (what the timeline does), a rectangle for each, and WebGL2 with names on a second canvas.
//
//   node bench/canvas.mjs [--rounds 10]
//
// Takes npm's packages from WEB (build/web). Prints the least and the median time of a picture in milliseconds, with its pixels
// read back, so that nothing is left undone.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.env.WEB ??= join(dirname(fileURLToPath(import.meta.url)), "..", "build", "web");
const { browser, finish } = await import("../tests/web/lib.mjs");
const { values: asked } = parseArgs({ options: { rounds: { type: "string", default: "10" } } });

/** Runs in the page. */
function measure(rounds) {
  const [width, height, lanes, pitch] = [1500, 900, 50, 18];
  let seed = 1;
  const random = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const thin = [];
  const wide = [];
  for (let lane = 0; lane < lanes; lane++) {
    for (let x = 0; x < width; x++) thin.push({ lane, x, width: 1, colour: Math.floor(random() * 256), alpha: 80 + Math.floor(175 * random()) });
    for (let x = 0; x < width; x += 50) wide.push({ lane, x, width: 45, colour: Math.floor(random() * 256), alpha: 255 });
  }
  const words = Array.from({ length: 256 }, (_, i) => (Math.imul(i + 1, 2654435761) >>> 8) & 0xffffff);
  const styles = words.map((word) => `rgb(${word & 255} ${(word >> 8) & 255} ${word >> 16})`);
  const canvas = (rows = height) => Object.assign(document.createElement("canvas"), { width, height: rows });
  const write = (context) => {
    context.font = "11px sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = "#111";
    for (const { lane, x } of wide) context.fillText("kernel_na…", x + 4, lane * pitch + 9);
  };
  const boxes = (context, list) => {
    for (const { lane, x, width: w, colour } of list) {
      context.fillStyle = styles[colour];
      context.fillRect(x, lane * pitch, w, pitch - 1);
    }
  };

  const strip = canvas(lanes).getContext("2d", { willReadFrequently: true });
  const pixels = new Uint32Array(width * lanes);
  const lined = canvas().getContext("2d", { alpha: false });
  const lines = () => {
    lined.clearRect(0, 0, width, height);
    pixels.fill(0);
    for (const { lane, x, colour, alpha } of thin) pixels[lane * width + x] = (words[colour] | (alpha << 24)) >>> 0;
    strip.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), width, lanes), 0, 0);
    lined.imageSmoothingEnabled = false;
    for (let lane = 0; lane < lanes; lane++) lined.drawImage(strip.canvas, 0, lane, width, 1, 0, lane * pitch, width, pitch - 1);
    boxes(lined, wide);
    write(lined);
    lined.getImageData(0, 0, 1, 1);
  };

  const boxed = canvas().getContext("2d", { alpha: false });
  const rectangles = () => {
    boxed.clearRect(0, 0, width, height);
    boxes(boxed, thin);
    boxes(boxed, wide);
    write(boxed);
    boxed.getImageData(0, 0, 1, 1);
  };

  const gl = canvas().getContext("webgl2", { antialias: false, alpha: false });
  const text = canvas().getContext("2d");
  const webgl = gl && prepare();
  function prepare() {
    const program = gl.createProgram();
    const sources = [
      [gl.VERTEX_SHADER, `#version 300 es
      in vec4 box; in vec4 colour; out vec4 shade;
      void main() { vec2 at = (box.xy + vec2(gl_VertexID & 1, gl_VertexID >> 1) * box.zw) / vec2(${width}., ${height}.) * 2. - 1.; gl_Position = vec4(at.x, -at.y, 0, 1); shade = colour; }`],
      [gl.FRAGMENT_SHADER, "#version 300 es\nprecision mediump float; in vec4 shade; out vec4 pixel; void main() { pixel = shade; }"],
    ];
    for (const [type, source] of sources) {
      const shader = gl.createShader(type);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    const all = [...thin, ...wide];
    const places = new Float32Array(all.length * 4);
    const colours = new Uint8Array(all.length * 4);
    const fill = (name, data, type, normalised) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribDivisor(at, 1);
      gl.bufferData(gl.ARRAY_BUFFER, data, gl.STREAM_DRAW);
      gl.vertexAttribPointer(at, 4, type, normalised, 0, 0);
    };
    return () => {
      all.forEach(({ lane, x, width: w, colour, alpha }, i) => {
        places.set([x, lane * pitch, w, pitch - 1], i * 4);
        colours.set([words[colour] & 255, (words[colour] >> 8) & 255, words[colour] >> 16, alpha], i * 4);
      });
      gl.clear(gl.COLOR_BUFFER_BIT);
      fill("box", places, gl.FLOAT, false);
      fill("colour", colours, gl.UNSIGNED_BYTE, true);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, all.length);
      gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
      text.clearRect(0, 0, width, height);
      write(text);
      text.getImageData(0, 0, 1, 1);
    };
  }

  const time = (draw) => {
    draw(); // the first makes what the others use
    const taken = Array.from({ length: rounds }, () => {
      const begin = performance.now();
      draw();
      return performance.now() - begin;
    }).sort((a, b) => a - b);
    return { least_ms: Math.round(taken[0] * 10) / 10, median_ms: Math.round(taken[rounds >> 1] * 10) / 10 };
  };
  return { lines: time(lines), rectangles: time(rectangles), webgl: webgl ? time(webgl) : null };
}

const page = await (await browser()).newPage();
const figures = await page.evaluate(measure, Number(asked.rounds));
console.log(JSON.stringify({ load: readFileSync("/proc/loadavg", "utf8").trim(), ...figures }, null, 2));
await finish();
