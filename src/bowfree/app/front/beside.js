// --- beside: another graph beside the drawn one ---

class Beside {
  constructor(bench) {
    this.bench = bench;
    this.forget();
  }

  forget() {
    // `which` is "pinned" or the number of a graph that was found; null when none is shown.
    Object.assign(this, {
      which: null,
      graph: null,
      comparison: null,
      picture: null,
      asked: null,
    });
  }

  async look(which) {
    const { bench } = this,
      asked = (this.asked = {});
    const answer = await bench.transport.ask({ do: "look", which });
    if (this.asked !== asked) return; // closed meanwhile, or another one is looked at
    if (answer.error) {
      bench.callout.refuse(answer);
      this.close();
      return;
    }
    Object.assign(this, { which, graph: answer.other, comparison: answer.comparison });
    const name = which === "pinned" ? "The kept graph" : `Found: number ${which + 1}`;
    if (!this.picture) {
      const host = make("figure", { class: "other" }, make("figcaption"));
      bench.canvas.host.after(host);
      bench.stage.classList.add("two");
      this.picture = new Picture(host, bench.about(), name);
    }
    this.picture.host.firstChild.textContent = name;
    this.picture.svg.setAttribute(
      "aria-label",
      `${name}: ${counted(differences(bench.state.graph, this.graph).length, "difference")}`,
    );
    this.draw();
    this.picture.setPlaces(bench.canvas.centers, bench.canvas.bands);
    bench.canvas.fit();
    bench.render();
  }

  draw() {
    if (!this.picture) return;
    const { graph, knowledge } = this.bench.state;
    this.picture.setGraph(this.graph, { knowledge, differs: this.marked(this.graph, graph) });
  }

  // For each edge, whether another graph has none or another one between the same variables.
  marked(graph, other) {
    if (!other) return null;
    return graph.map(([a, mark, b]) => {
      const there = other.find((e) => (e[0] === a && e[2] === b) || (e[0] === b && e[2] === a));
      if (!there) return "only";
      return there[1] === mark && (mark === "<->" || there[0] === a) ? null : "differs";
    });
  }

  step(by) {
    const count = this.bench.candidates.graphs.length;
    const now = typeof this.which === "number" ? this.which + by : by > 0 ? 0 : count - 1;
    this.look((now + count) % count);
  }

  close() {
    if (this.picture) this.picture.host.remove();
    this.forget();
    this.bench.stage.classList.remove("two");
    this.bench.canvas.fit();
    this.bench.render();
  }

  async take() {
    const answer = await this.bench.ask({ do: "take", which: this.which });
    if (!answer.error) this.close();
  }
}
