// The engine behind `tacho view`: requests go to api/… beside the page, so that they pass any proxy that the page came through.

import type { About, Note } from "./engine";
import { keptNotes, readNotes } from "./notes";
import { RequestEngine } from "./requests";

/** The address that `tacho view` prints carries it, and the page leaves it there, so that a copied link works. */
export const token = () => new URLSearchParams(location.search).get("token");

/** The ranks that this page is about: a list such as 5 or 0,8-15; null: all of them. */
export function ranks(): string | null {
  const given = new URLSearchParams(location.search).get("ranks");
  return given !== null && /^[\d,-]{1,200}$/.test(given) ? given : null;
}

/** Of two runs that are compared: the one that this page shows. */
export const run = (): 0 | 1 => (new URLSearchParams(location.search).get("run") === "1" ? 1 : 0);

/** The address of a page like this one about the first or the second run. */
export function addressOfRun(which: number, hash: string): string {
  const search = new URLSearchParams(location.search);
  search.delete("run");
  return `?${search.toString()}${which === 0 ? "" : "&run=1"}${hash}`;
}

/** The address of a page like this one about some ranks, or about all of them. */
export function addressOf(some: string | null, hash: string): string {
  const search = new URLSearchParams(location.search);
  search.delete("ranks");
  return `?${search.toString()}${some === null ? "" : `&ranks=${some}`}${hash}`;
}

/** A request about the run and the ranks of this page. */
function narrowed(request: string): string {
  const some = ranks();
  const parts = [...(run() === 0 ? [] : ["run=1"]), ...(some === null ? [] : [`ranks=${some}`])];
  return parts.length === 0 ? request : `${request}${request.includes("?") ? "&" : "?"}${parts.join("&")}`;
}

function send(request: string, body?: string, signal?: AbortSignal): Promise<Response> {
  return fetch(`api/${narrowed(request)}`, {
    method: body === undefined ? "GET" : "POST",
    body: body ?? null,
    headers: { "X-Tacho-Token": token() ?? "" },
    cache: "no-store",
    signal: signal ?? null,
  });
}

/** The server's sentence, or what can be said without one. */
async function failure(response: Response): Promise<Error> {
  try {
    const { error } = (await response.json()) as { error?: unknown };
    if (typeof error === "string") return new Error(error);
  } catch {
    // not an answer of tacho view: a proxy in between speaks
  }
  return new Error(`The server answered with status ${response.status}.`);
}

/** The server does not answer at all; the page says so once, not for each request. */
export class ServerLost extends Error {}

export class HttpEngine extends RequestEngine {
  private watchers: ((lost: boolean) => void)[] = [];
  private isLost = false;

  constructor() {
    super(4);
  }

  /** Tells when the server is gone, and when it answers again. */
  watch(tell: (lost: boolean) => void): void {
    this.watchers.push(tell);
  }

  private found(lost: boolean): void {
    if (lost === this.isLost) return;
    this.isLost = lost;
    for (const tell of this.watchers) tell(lost);
  }

  /** Asks whether the server is back: null if not, else its facts, or its refusal. */
  async retry(): Promise<About | Error | null> {
    try {
      const response = await send("about");
      if (!response.ok) return await failure(response);
      const about = (await response.json()) as About;
      this.found(false);
      return about;
    } catch {
      return null;
    }
  }

  async notes(): Promise<Note[]> {
    const [kept, about] = await Promise.all([this.json<unknown>("notes"), this.about()]);
    return readNotes(kept, about);
  }

  async saveNotes(notes: readonly Note[]): Promise<void> {
    await this.ask("notes", keptNotes(notes, await this.about()));
  }

  /** A request that is called off ends on the server too, when its connection does. */
  protected async carry(request: string, body?: string, signal?: AbortSignal): Promise<ArrayBuffer> {
    const response = await send(request, body, signal).catch(() => {
      if (!signal?.aborted) this.found(true);
      throw new ServerLost("The server does not answer.");
    });
    this.found(false);
    if (!response.ok) throw await failure(response);
    return response.arrayBuffer();
  }
}
