// How the page finds its report: inside the document, else at the server that it came from, else nowhere yet.

import type { Engine } from "./engine";
import { openEmbedded } from "./files";
import { HttpEngine, token } from "./http";

/** null: a page without a report, onto which one can be dropped (openFile). */
export async function openEngine(): Promise<Engine | null> {
  return (await openEmbedded()) ?? (token() ? new HttpEngine() : null);
}
