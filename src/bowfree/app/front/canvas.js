// --- canvas: a picture to be drawn on ---

class Canvas extends Picture {
  // `hand` says what a hand may do: draw(a, mark, b), place(v, x, y), edgeMenu(k, place),
  // nodeMenu(v, place), pairMenu(a, b, place), edgeKey(k, key), say(text).
  constructor(host, about, name, hand) {
    super(host, about, name);
    Object.assign(this, { hand, mode: "->", from: null, held: null });
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    this.svg.addEventListener("pointerup", (event) => this.drop(event));
    this.svg.addEventListener("pointercancel", () => this.letGo());
    this.boxes.forEach((box, v) => {
      box.addEventListener("pointerdown", (event) => this.hold(v, event));
      box.addEventListener("keydown", (event) => this.boxKey(v, event));
    });
  }

  makeEdge(pair) {
    const part = super.makeEdge(pair);
    part.addEventListener("click", (event) =>
      this.hand.edgeMenu(part.place, [event.clientX, event.clientY]),
    );
    part.addEventListener("keydown", (event) => this.edgeKey(part.place, event));
    return part;
  }

  notesOf(v) {
    this.boxes[v].classList.toggle("from", this.from === v);
    return this.from === v ? ["an edge begins here"] : [];
  }

  touchRule(a, b, place) {
    this.hand.pairMenu(a, b, place);
  }

  boxAt(point) {
    return this.centers.findIndex((center, v) => boxDistance(point, center, this.sizes[v]) <= 3);
  }

  // --- pointer: drag from box to box to draw, or drag a box to move it ---

  hold(v, event) {
    if (event.button) return;
    const place = this.fromScreen(event);
    this.held = {
      v,
      start: [event.clientX, event.clientY],
      moved: false,
      moving: this.mode === "move" || event.altKey,
      mark: event.shiftKey ? (this.mode === "->" ? "<->" : "->") : this.mode,
      grip: [this.centers[v][0] - place[0], this.centers[v][1] - place[1]],
    };
    this.svg.setPointerCapture(event.pointerId);
  }

  drag(event) {
    const held = this.held;
    if (!held) return;
    const place = this.fromScreen(event);
    held.moved ||= Math.hypot(event.clientX - held.start[0], event.clientY - held.start[1]) > 4;
    if (!held.moved) return;
    if (held.moving) {
      this.moveBox(held.v, place[0] + held.grip[0], place[1] + held.grip[1]);
      return;
    }
    const target = this.boxAt(place);
    this.boxes.forEach((box, v) => box.classList.toggle("target", v === target && v !== held.v));
    const end = target >= 0 && target !== held.v ? this.centers[target] : place;
    const bend = held.mark === "<->" ? 0.2 : 0;
    const [a, b, c] = fullCurve(this.centers[held.v], end, bend);
    this.groups.rubber.replaceChildren(
      make("svg:path", {
        class: held.mark === "<->" ? "bidirected" : held.mark === "--" ? "rule" : "directed",
        d: `M${xy(a)} Q${xy(b)} ${xy(c)}`,
      }),
    );
  }

  drop(event) {
    const held = this.held;
    if (!held) return;
    this.letGo();
    const { v } = held;
    if (!held.moved) {
      this.boxes[v].focus();
      this.hand.nodeMenu(v, this.toScreen(this.centers[v]));
    } else if (held.moving) {
      this.hand.place(v, ...this.centers[v]);
    } else {
      const target = this.boxAt(this.fromScreen(event));
      if (target >= 0 && target !== v) this.hand.draw(v, held.mark, target);
    }
  }

  letGo() {
    this.held = null;
    this.groups.rubber.replaceChildren();
    for (const box of this.boxes) box.classList.remove("target");
  }

  moveBox(v, x, y) {
    this.centers[v] = [x, y];
    this.boxes[v].setAttribute("transform", `translate(${xy(this.centers[v])})`);
    this.edges.forEach(([a, , b], k) => {
      if (a === v || b === v) this.drawEdge(k);
    });
    this.drawLabels();
    if (this.knowledge.forbidden.some(([a, , b]) => a === v || b === v)) this.drawRules();
  }

  // --- keys ---

  boxKey(v, event) {
    const step = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    }[event.key];
    if (step && event.shiftKey) {
      this.moveBox(v, this.centers[v][0] + 12 * step[0], this.centers[v][1] + 12 * step[1]);
      this.hand.place(v, ...this.centers[v]);
    } else if (step) {
      const next = this.nearest(v, step);
      if (next >= 0) this.boxes[next].focus();
    } else if (event.key === "Enter" || event.key === "b") {
      if (this.from === null) this.setFrom(v);
      else {
        const from = this.from,
          mark = event.key === "b" ? "<->" : this.mode === "move" ? "->" : this.mode;
        this.setFrom(null);
        if (from !== v) this.hand.draw(from, mark, v);
      }
    } else if (event.key === " " || event.key === "ContextMenu") {
      this.hand.nodeMenu(v, this.toScreen(this.centers[v]));
    } else if (event.key === "Escape" && this.from !== null) {
      this.setFrom(null);
    } else return;
    event.preventDefault();
  }

  setFrom(v) {
    const before = this.from;
    this.from = v;
    if (before !== null) this.describeBox(before);
    if (v !== null) this.describeBox(v);
    this.hand.say(
      v === null
        ? "No edge is begun."
        : `From ${this.names[v]}: go to another variable with the arrow keys and press Enter, or b for ↔.`,
    );
  }

  // The nearest box in a direction: near, and not too far to the side.
  nearest(v, [dx, dy]) {
    let best = -1,
      least = Infinity;
    this.centers.forEach(([x, y], u) => {
      const along = (x - this.centers[v][0]) * dx + (y - this.centers[v][1]) * dy;
      const aside =
        Math.abs((x - this.centers[v][0]) * dy) + Math.abs((y - this.centers[v][1]) * dx);
      if (u !== v && along > 1 && along + 2 * aside < least) [best, least] = [u, along + 2 * aside];
    });
    return best;
  }

  edgeKey(k, event) {
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    if (event.key in steps) {
      this.parts[(k + steps[event.key] + this.parts.length) % this.parts.length].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.hand.edgeMenu(k, this.middleOf(k));
    } else if (!this.hand.edgeKey(k, event)) return;
    event.preventDefault();
  }

  // Light up the edges that are the reason for a refusal.
  blame(pairs) {
    (this.parts || []).forEach((part, k) => {
      const [a, , b] = this.edges[k];
      part.classList.toggle(
        "blamed",
        pairs.some(([x, y]) => (x === a && y === b) || (x === b && y === a)),
      );
    });
  }
}
