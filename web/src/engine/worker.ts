// The worker of wasm.ts: holds one reader with one report, and answers orders one after the other.

import { Reader } from "./reader";

export type Order = { kind: "open"; wasm: ArrayBuffer; name: string; bytes: ArrayBuffer } | { kind: "ask"; request: string; body?: string };
export interface Answer {
  id: number;
  bytes?: ArrayBuffer;
  error?: string;
}

let reader: Reader | null = null;

async function obey(order: Order): Promise<ArrayBuffer> {
  if (order.kind === "open") {
    reader = await Reader.start(order.wasm);
    reader.open(order.name, new Uint8Array(order.bytes));
    return new ArrayBuffer(0);
  }
  if (!reader) throw new Error("Open the report again: its reader has stopped.");
  return reader.answer(order.request, order.body);
}

/** After a fault of the C its memory means nothing any more. */
function sentence(error: unknown): string {
  if (!(error instanceof WebAssembly.RuntimeError)) return error instanceof Error ? error.message : String(error);
  reader = null;
  return `The reader crashed (${error.message}). Open the report again.`;
}

let last: Promise<unknown> = Promise.resolve();
onmessage = ({ data: { id, order } }: MessageEvent<{ id: number; order: Order }>) => {
  last = last.then(() => obey(order)).then(
    (bytes) => postMessage({ id, bytes } satisfies Answer, { transfer: [bytes] }),
    (error: unknown) => postMessage({ id, error: sentence(error) } satisfies Answer),
  );
};
