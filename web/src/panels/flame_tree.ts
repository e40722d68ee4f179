// A flame graph as a tree to be drawn: children in order of their weight, a part of it spread over the width, the boxes that are
// wide enough to be seen. Pure: an answer of the engine in, boxes out.

import type { Flame, Frame } from "../engine/engine";
import { count, duration } from "../units";

export interface Box {
  node: number;
  /** Shares of the width, 0 … 1. */
  x: number;
  width: number;
  depth: number;
}

export class FlameTree {
  private readonly children: number[][];
  private readonly depths: Int32Array;

  constructor(readonly flame: Flame) {
    const { nodes } = flame;
    this.children = nodes.map(() => []);
    this.depths = new Int32Array(nodes.length);
    for (let node = 1; node < nodes.length; node++) {
      const parent = this.parent(node);
      this.children[parent]?.push(node);
      this.depths[node] = (this.depths[parent] ?? 0) + 1;
    }
    for (const list of this.children) list.sort((a, b) => this.total(b) - this.total(a));
  }

  parent(node: number): number {
    return this.flame.nodes[node]?.[0] ?? 0;
  }
  frame(node: number): Frame | undefined {
    return this.flame.frames[this.flame.nodes[node]?.[1] ?? -1];
  }
  self(node: number): number {
    return this.flame.nodes[node]?.[2] ?? 0;
  }
  total(node: number): number {
    return this.flame.nodes[node]?.[3] ?? 0;
  }
  depth(node: number): number {
    return this.depths[node] ?? 0;
  }
  name(node: number): string {
    return node === 0 ? "all" : (this.frame(node)?.name ?? "");
  }
  childrenOf(node: number): readonly number[] {
    return this.children[node] ?? [];
  }

  /** A weight in words. */
  amount(value: number): string {
    return this.flame.unit === "ns" ? duration(value) : `${count(value)} ${value === 1 ? "sample" : "samples"}`;
  }

  /** The node and all that hold it, the root first. */
  way(node: number): number[] {
    const way = [node];
    for (let at = node; at > 0; ) way.unshift((at = this.parent(at)));
    return way;
  }

  /** The boxes of at least `least` of the width when `zoomed` fills it; what holds it fills it too. */
  boxes(zoomed: number, least: number): Box[] {
    const boxes: Box[] = this.way(zoomed).map((node) => ({ node, x: 0, width: 1, depth: this.depth(node) }));
    const whole = this.total(zoomed) || 1;
    const waiting = [{ node: zoomed, x: 0 }];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      let { x } = next;
      for (const node of this.childrenOf(next.node)) {
        const width = this.total(node) / whole;
        if (width < least) break; // the others are narrower still
        boxes.push({ node, x, width, depth: this.depth(node) });
        waiting.push({ node, x });
        x += width;
      }
    }
    return boxes;
  }

  /** The nodes whose name holds the text, and how much of the whole they and what they call make up. */
  matching(text: string): { nodes: Set<number>; total: number } {
    const nodes = new Set<number>();
    const wanted = text.toLowerCase();
    if (wanted === "") return { nodes, total: 0 };
    const frames = new Set<number>();
    this.flame.frames.forEach((frame, index) => {
      if (frame.name.toLowerCase().includes(wanted)) frames.add(index);
    });
    const covered = new Uint8Array(this.flame.nodes.length);
    let total = 0;
    for (let node = 1; node < this.flame.nodes.length; node++) {
      const hit = frames.has(this.flame.nodes[node]![1]);
      const inside = covered[this.parent(node)] === 1;
      if (hit) nodes.add(node);
      if (hit && !inside) total += this.total(node);
      if (hit || inside) covered[node] = 1;
    }
    return { nodes, total };
  }
}
