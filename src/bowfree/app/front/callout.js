// @ts-check
// --- callout: why a change is impossible, shown on the canvas ---

class Callout {
  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.element = make("div", { class: "callout", role: "alert", hidden: true });
  }

  // Show an error between two variables, with a possible alternative.
  /** @param {any} answer @param {Pair | null} pair */
  show(answer, pair = null) {
    const { bench, element } = this,
      { error } = answer;
    bench.canvas.highlight(answer.path || []);
    const sentence = error[0].toUpperCase() + error.slice(1) + (/[.!?]$/.test(error) ? "" : ".");
    const parts = [make("p", {}, sentence)];
    if (answer.alternative) {
      const [a, mark, b] = answer.alternative;
      parts.push(
        button(`Change it to ${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`, () =>
          bench.ask({ do: "change", a, mark, b }, [a, b]),
        ),
      );
    }
    parts.push(button("Close", () => this.hide(), { class: "close" }));
    element.replaceChildren(...parts);
    element.hidden = false;
    const frame = bench.stage.getBoundingClientRect();
    let point = [frame.left + frame.width / 2, frame.top + 40];
    if (pair) {
      const [p, q] = pair.map((v) => bench.canvas.toScreen(bench.canvas.centers[v]));
      point = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2 + 14];
    }
    /** @type {(wanted: number, size: number) => any} */
    const inside = (wanted, size) => Math.max(6, Math.min(wanted, size - 6));
    const left = inside(point[0] - frame.left - element.offsetWidth / 2, frame.width - element.offsetWidth);
    element.style.left = `${left}px`;
    element.style.top = `${inside(point[1] - frame.top, frame.height - element.offsetHeight)}px`;
  }

  hide() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.bench.canvas.highlight([]);
  }
}
