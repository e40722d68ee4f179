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
  if (!reader) throw new Error("No report is open.");
  return reader.answer(order.request, order.body).bytes;
}

let last: Promise<unknown> = Promise.resolve();
onmessage = ({ data: { id, order } }: MessageEvent<{ id: number; order: Order }>) => {
  last = last.then(() => obey(order)).then(
    (bytes) => postMessage({ id, bytes } satisfies Answer, { transfer: [bytes] }),
    (error: unknown) => postMessage({ id, error: error instanceof Error ? error.message : String(error) } satisfies Answer),
  );
};
