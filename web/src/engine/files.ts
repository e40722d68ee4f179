// Where the reader and a report come from when no server answers: the document itself (a page that stands alone), or a file
// that the user drops on the page or chooses. Whatever is packed is unpacked here, by the browser.

import type { Engine } from "./engine";
import { WasmEngine } from "./wasm";

const embedded = (id: string) => document.getElementById(id);

function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** What begins like gzip is unpacked, anything else is left as it is. */
async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes.buffer;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer().catch(() => {
    throw new Error("Cannot decompress the file: it is damaged or truncated.");
  });
}

async function wasmBytes(): Promise<ArrayBuffer> {
  const inside = embedded("tacho-wasm");
  if (inside) return unpacked(fromBase64(inside.textContent ?? ""));
  const response = await fetch("tacho.wasm").catch(() => null);
  if (!response?.ok) throw new Error("Cannot start the reader: tacho.wasm is missing beside this page.");
  return response.arrayBuffer();
}

/** The report inside this document, or null where it has none. */
export async function openEmbedded(): Promise<Engine | null> {
  const inside = embedded("tacho-report");
  if (!inside) return null;
  const bytes = await unpacked(fromBase64(inside.textContent ?? ""));
  inside.textContent = ""; // it is large, and is not needed twice
  const notes = new TextDecoder().decode(fromBase64(embedded("tacho-notes")?.textContent ?? ""));
  return WasmEngine.open(await wasmBytes(), inside.dataset["name"] ?? "report.tacho", bytes, notes);
}

/** A .tacho, an nsys .sqlite or a .json[.gz] of PyTorch's profiler, read here: nothing leaves the browser. */
export async function openFile(file: File): Promise<Engine> {
  const [wasm, bytes] = await Promise.all([wasmBytes(), file.arrayBuffer().then((packed) => unpacked(new Uint8Array(packed)))]);
  return WasmEngine.open(wasm, file.name.replace(/\.gz$/, ""), bytes);
}
