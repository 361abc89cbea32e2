// --- callout: why a change was refused, said on the canvas ---

class Callout {
  constructor(bench) {
    this.bench = bench;
    this.element = make("div", { class: "callout", role: "alert", hidden: true });
  }

  // Say it between the variables that it is about, and offer what could be done instead.
  refuse(answer, pair = null) {
    const { bench, element } = this,
      { error } = answer;
    bench.canvas.blame(answer.path || []);
    const sentence = error[0].toUpperCase() + error.slice(1) + (/[.!?]$/.test(error) ? "" : ".");
    const parts = [make("p", {}, sentence)];
    if (answer.instead) {
      const [a, mark, b] = answer.instead;
      parts.push(
        button(`Change it to ${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`, () =>
          bench.ask({ do: "change", a, mark, b }, [a, b]),
        ),
      );
    }
    parts.push(button("Close", () => this.excuse(), { class: "close" }));
    element.replaceChildren(...parts);
    element.hidden = false;
    const frame = bench.stage.getBoundingClientRect();
    let place = [frame.left + frame.width / 2, frame.top + 40];
    if (pair) {
      const [p, q] = pair.map((v) => bench.canvas.toScreen(bench.canvas.centers[v]));
      place = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2 + 14];
    }
    const inside = (wanted, room) => Math.max(6, Math.min(wanted, room - 6));
    const left = inside(
      place[0] - frame.left - element.offsetWidth / 2,
      frame.width - element.offsetWidth,
    );
    element.style.left = `${left}px`;
    element.style.top = `${inside(place[1] - frame.top, frame.height - element.offsetHeight)}px`;
  }

  excuse() {
    if (this.element.hidden) return;
    this.element.hidden = true;
    this.bench.canvas.blame([]);
  }
}
