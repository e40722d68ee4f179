// The engine inside the page: the same requests, answered by the C reader in a worker (worker.ts). Notes come with the document, and
// are kept in the browser's storage, by what the report says of itself.

import type { Note } from "./engine";
import { keptNotes, readNotes } from "./notes";
import { RequestEngine } from "./requests";
import type { Answer, Order } from "./worker";
import PageWorker from "./worker?worker&inline";

/** FNV-1a: a document with other notes does not get what the reader made of these. */
const hashOf = (text: string): number => [...text].reduce((hash, sign) => Math.imul(hash ^ sign.codePointAt(0)!, 0x01000193) >>> 0, 0x811c9dc5);

export class WasmEngine extends RequestEngine {
  private readonly worker = new PageWorker();
  private pending = new Map<number, { resolve: (bytes: ArrayBuffer) => void; reject: (error: Error) => void }>();
  private count = 0;

  /** told: the notes that came with the report; "" without any. */
  private constructor(private readonly told: string) {
    super(1);
    this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.settle(data);
    this.worker.onerror = (event) => this.fail(new Error(event.message || "Cannot start the reader."));
  }

  /** A report, or a file of a profiler that Tacho imports. Both buffers go over to the worker and are empty afterwards. */
  static async open(wasm: ArrayBuffer, name: string, bytes: ArrayBuffer, notes = ""): Promise<WasmEngine> {
    const engine = new WasmEngine(notes);
    try {
      await engine.order({ kind: "open", wasm, name, bytes }, [wasm, bytes]);
    } catch (error) {
      engine.close();
      throw error;
    }
    return engine;
  }

  async notes(): Promise<Note[]> {
    const kept = this.storage()?.getItem(await this.key()) ?? this.told;
    return kept ? readNotes(JSON.parse(kept), await this.about()) : [];
  }

  async saveNotes(notes: readonly Note[]): Promise<void> {
    const storage = this.storage();
    if (!storage) throw new Error("Bookmarks are lost when this page is closed: the browser stores nothing for local files.");
    try {
      storage.setItem(await this.key(), keptNotes(notes, await this.about()));
    } catch {
      throw new Error("Cannot save the bookmarks: the browser's storage is full.");
    }
  }

  override close(): void {
    super.close();
    this.worker.terminate();
    this.fail(new Error("The report was closed."));
  }

  protected carry(request: string, body?: string): Promise<ArrayBuffer> {
    return this.order({ kind: "ask", request, body });
  }

  private async key(): Promise<string> {
    const { name, origin, events } = await this.about();
    return `tacho-notes:${name}:${origin}:${events}${this.told && `:${hashOf(this.told)}`}`;
  }

  private storage(): Storage | null {
    try {
      return localStorage;
    } catch {
      return null; // forbidden by the browser's settings
    }
  }

  private order(order: Order, transfer: Transferable[] = []): Promise<ArrayBuffer> {
    const id = this.count++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject });
      this.worker.postMessage({ id, order }, transfer);
    });
  }

  private settle({ id, bytes, error }: Answer): void {
    const waiting = this.pending.get(id);
    this.pending.delete(id);
    if (bytes) waiting?.resolve(bytes);
    else waiting?.reject(new Error(error));
  }

  private fail(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }
}
