// @ts-check
// --- comparison: another graph beside the current one ---

class Comparison {
  /** @type {number | string | null} */ which = null;
  /** @type {any} */ graph = null;
  /** @type {Curves} */ curves = {};
  /** @type {any} */ result = null;
  /** @type {any} */ view = null;

  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
  }

  reset() {
    this.bench.asked.compare = null;
    // `which` is "pinned" or the index of a candidate; null if no graph is shown.
    Object.assign(this, { which: null, graph: null, result: null, view: null });
  }

  /** @param {number | string} which */
  async show(which) {
    const { bench } = this,
      answer = await bench.query({ do: "compare", which });
    if (!answer) return; // closed meanwhile, or another one was requested
    if (answer.error) {
      bench.callout.show(answer);
      this.close();
      return;
    }
    Object.assign(this, { which, graph: answer.other, curves: answer.curves, result: answer.comparison });
    const name = which === "pinned" ? "The kept graph" : `Graph ${Number(which) + 1} of the search`;
    if (!this.view) {
      const host = make("figure", { class: "other" }, make("figcaption"));
      bench.canvas.host.after(host);
      bench.stage.classList.add("two");
      this.view = new GraphView(host, bench.variables(), name);
    }
    this.view.host.firstChild.textContent = name;
    this.view.svg.setAttribute(
      "aria-label",
      `${name}: ${counted(differences(bench.state.graph, this.graph).length, "difference")}`,
    );
    this.draw();
    if (!this.view.scale) {
      const { centers, bands } = bench.canvas;
      this.view.setPositions({ centers, bands, curves: this.curves });
      bench.canvas.fit();
    }
    bench.render();
  }

  draw() {
    if (!this.view) return;
    const { graph, knowledge } = this.bench.state;
    const differs = this.markDifferences(this.graph, graph);
    this.view.setGraph(this.graph, { knowledge, differs, curves: this.curves });
  }

  // For each edge, "only" if the other graph has no edge there, "differs" if it has another one.
  /** @param {Edge[]} graph @param {Edge[] | null} other */
  markDifferences(graph, other) {
    if (!other) return null;
    return graph.map(([a, mark, b]) => {
      const there = other.find((e) => (e[0] === a && e[2] === b) || (e[0] === b && e[2] === a));
      if (!there) return "only";
      return there[1] === mark && (mark === "<->" || there[0] === a) ? null : "differs";
    });
  }

  /** @param {number} by */
  step(by) {
    const count = this.bench.candidates.graphs.length;
    const next = typeof this.which === "number" ? this.which + by : by > 0 ? 0 : count - 1;
    this.show((next + count) % count);
  }

  close() {
    if (this.view) this.view.host.remove();
    this.reset();
    this.bench.stage.classList.remove("two");
    this.bench.canvas.fit();
    this.bench.render();
  }

  async use() {
    const answer = await this.bench.ask({ do: "use", which: this.which });
    if (!answer.error) this.close();
  }
}
