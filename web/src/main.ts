// Starts the page: finds the report, then hands it to the timeline and the panels.

import "./page.css";

import type { Engine } from "./engine/engine";
import { openFile } from "./engine/files";
import { openEngine } from "./engine/open";

const page = document.getElementById("page")!;

async function show(engine: Engine): Promise<void> {
  const about = await engine.about();
  document.title = `${about.name} – Tacho`;
  page.textContent = `${about.name}: ${about.events} events in ${about.rows} rows`;
}

function say(error: unknown): void {
  page.textContent = error instanceof Error ? error.message : String(error);
}

function waitForFile(): void {
  page.textContent = "Drop a report here: a .tacho, an SQLite export of nsys, or a trace of PyTorch's profiler (.json, .json.gz).";
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer?.files[0];
    if (file) openFile(file).then(show).catch(say);
  });
}

openEngine().then((engine) => (engine ? show(engine) : waitForFile())).catch(say);
