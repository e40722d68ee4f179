// tacho.wasm, started: the C of src/wasm behind two calls, open and answer. It knows of no page and no worker, so that tests
// use it as it is.

import { decompress } from "fzstd";

import { Wasi } from "./wasi";

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  page_alloc(size: number): number;
  page_free(at: number): void;
  page_open(path: number): number;
  page_answer(request: number, body: number, bodyLength: number): number;
  page_bytes(): number;
  page_length(): number;
}

export class Reader {
  private constructor(private readonly c: Exports, private readonly wasi: Wasi) {}

  static async start(wasm: BufferSource): Promise<Reader> {
    const wasi = new Wasi();
    let memory: WebAssembly.Memory;
    const bytes = (at: number, length: number) => new Uint8Array(memory.buffer, at >>> 0, length >>> 0);
    const host = {
      // 0, or 1 for bytes that are not what they should be
      page_decompress: (packed: number, packedLength: number, raw: number, rawLength: number): number => {
        try {
          const unpacked = decompress(bytes(packed, packedLength)); // with a buffer of ours it would not say how much it filled
          if (unpacked.length !== rawLength >>> 0) return 1;
          bytes(raw, rawLength).set(unpacked);
          return 0;
        } catch {
          return 1;
        }
      },
    };
    const { instance } = await WebAssembly.instantiate(wasm, { env: host, wasi_snapshot_preview1: wasi.imports });
    const c = instance.exports as unknown as Exports;
    memory = c.memory;
    wasi.attach(memory);
    c._initialize();
    return new Reader(c, wasi);
  }

  /** Reports are read as they are, files of other profilers are imported first. The bytes must stay as they are. */
  open(name: string, bytes: Uint8Array): void {
    const path = name.replaceAll("/", "_") || "report.tacho";
    this.wasi.addFile(path, bytes);
    this.withText(`/${path}`, (at) => this.check(this.c.page_open(at)));
  }

  answer(request: string, body?: string): ArrayBuffer {
    return this.withText(request, (at) =>
      body === undefined
        ? this.reply(this.c.page_answer(at, 0, 0))
        : this.withText(body, (bodyAt, length) => this.reply(this.c.page_answer(at, bodyAt, length))),
    );
  }

  private reply(status: number): ArrayBuffer {
    this.check(status);
    return this.result().slice().buffer;
  }

  private check(status: number): void {
    if (status !== 0) throw new Error(new TextDecoder().decode(this.result().slice()));
  }

  private result(): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.c.memory.buffer as ArrayBuffer, this.c.page_bytes() >>> 0, this.c.page_length() >>> 0);
  }

  /** Text in the reader's memory, with a NUL behind it, for the length of a call. */
  private withText<Result>(text: string, use: (at: number, length: number) => Result): Result {
    const bytes = new TextEncoder().encode(text);
    const at = this.c.page_alloc(bytes.length + 1);
    if (!at) throw new Error("The reader is out of memory.");
    try {
      const room = new Uint8Array(this.c.memory.buffer, at >>> 0, bytes.length + 1);
      room.set(bytes);
      room[bytes.length] = 0;
      return use(at, bytes.length);
    } finally {
      this.c.page_free(at);
    }
  }
}
