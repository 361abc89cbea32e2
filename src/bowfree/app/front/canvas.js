// @ts-check
// --- canvas: a graph view that can be edited ---

class Canvas extends GraphView {
  /** @type {Actions} */ actions;
  mode = "->";
  /** @type {number | null} */ from = null; // where an edge was started
  /** @type {any} */ dragged = null;

  /** @param {HTMLElement} host @param {Variables} variables @param {string} name @param {Actions} actions */
  constructor(host, variables, name, actions) {
    super(host, variables, name);
    this.actions = actions;
    on(this.svg, "pointermove", (event) => this.drag(event));
    on(this.svg, "pointerup", (event) => this.drop(event));
    on(this.svg, "pointercancel", () => this.endDrag());
    this.boxes.forEach((box, v) => {
      on(box, "pointerdown", (event) => this.startDrag(v, event));
      on(box, "keydown", (event) => this.onBoxKey(v, event));
    });
  }

  /** @param {string} pair */
  makeEdge(pair) {
    const part = super.makeEdge(pair);
    on(part, "click", (event) => this.actions.edgeMenu(part.index, [event.clientX, event.clientY]));
    on(part, "keydown", (event) => this.onEdgeKey(part.index, event));
    return part;
  }

  /** @param {number} v */
  notesOf(v) {
    this.boxes[v].classList.toggle("from", this.from === v);
    return this.from === v ? ["an edge starts here"] : [];
  }

  /** @param {number} a @param {number} b @param {Point} point */
  onRuleClick(a, b, point) {
    this.actions.pairMenu(a, b, point);
  }

  /** @param {Edge} edge */
  onGhostClick(edge) {
    this.actions.suggestion(edge);
  }

  /** @param {Point} point */
  boxAt(point) {
    return this.centers.findIndex((center, v) => boxDistance(point, center, this.sizes[v]) <= 3);
  }

  // --- pointer: drag from box to box to draw, or drag a box to move it ---

  /** @param {number} v @param {any} event */
  startDrag(v, event) {
    if (event.button) return;
    const point = this.fromScreen(event);
    this.dragged = {
      v,
      start: [event.clientX, event.clientY],
      moved: false,
      moving: this.mode === "move" || event.altKey,
      mark: event.shiftKey && this.mode !== "ask" ? (this.mode === "->" ? "<->" : "->") : this.mode,
      grip: [this.centers[v][0] - point[0], this.centers[v][1] - point[1]],
    };
    this.svg.setPointerCapture(event.pointerId);
  }

  /** @param {any} event */
  drag(event) {
    const dragged = this.dragged;
    if (!dragged) return;
    const point = this.fromScreen(event);
    dragged.moved ||= Math.hypot(event.clientX - dragged.start[0], event.clientY - dragged.start[1]) > 4;
    if (!dragged.moved) return;
    if (dragged.moving) {
      this.moveBox(dragged.v, point[0] + dragged.grip[0], point[1] + dragged.grip[1]);
      return;
    }
    const target = this.boxAt(point);
    this.boxes.forEach((box, v) => box.classList.toggle("target", v === target && v !== dragged.v));
    const end = target >= 0 && target !== dragged.v ? this.centers[target] : point;
    const bend = dragged.mark === "<->" ? 0.2 : 0;
    const [a, b, c] = fullCurve(this.centers[dragged.v], end, bend);
    this.groups.rubber.replaceChildren(
      make("svg:path", {
        class: dragged.mark === "<->" ? "bidirected" : dragged.mark === "--" ? "rule" : "directed",
        d: `M${xy(a)} Q${xy(b)} ${xy(c)}`,
      }),
    );
  }

  /** @param {any} event */
  drop(event) {
    const dragged = this.dragged;
    if (!dragged) return;
    this.endDrag();
    const { v } = dragged;
    if (!dragged.moved) {
      this.boxes[v].focus();
      if (this.from !== null && this.from !== v) this.endEdge(v, dragged.mark);
      else if (this.mode === "ask") this.setFrom(v);
      else this.actions.nodeMenu(v, this.toScreen(this.centers[v]));
    } else if (dragged.moving) {
      this.actions.move(v, ...this.centers[v]);
    } else {
      const target = this.boxAt(this.fromScreen(event));
      if (target >= 0 && target !== v) this.actions.draw(v, dragged.mark, target);
    }
  }

  endDrag() {
    this.dragged = null;
    this.groups.rubber.replaceChildren();
    for (const box of this.boxes) box.classList.remove("target");
  }

  /** @param {number} v @param {number} x @param {number} y */
  moveBox(v, x, y) {
    this.centers[v] = [x, y];
    this.moved.add(v);
    this.boxes[v].setAttribute("transform", `translate(${xy(this.centers[v])})`);
    this.edges.forEach(([a, , b], k) => {
      if (a === v || b === v) this.drawEdge(k);
    });
    this.drawLabels();
    if (this.knowledge.forbidden.some(([a, , b]) => a === v || b === v)) this.drawRules();
  }

  // --- keys ---

  /** @param {number} v @param {any} event */
  onBoxKey(v, event) {
    /** @type {Record<string, Pair>} */
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = steps[event.key];
    if (step && event.shiftKey) {
      this.moveBox(v, this.centers[v][0] + 12 * step[0], this.centers[v][1] + 12 * step[1]);
      this.actions.move(v, ...this.centers[v]);
    } else if (step) {
      const next = this.nearest(v, step);
      if (next >= 0) this.boxes[next].focus();
    } else if (event.key === "Enter" || event.key === "b") {
      if (this.from === null) this.setFrom(v);
      else this.endEdge(v, event.key === "b" ? "<->" : this.mode);
    } else if (event.key === " " || event.key === "ContextMenu") {
      this.actions.nodeMenu(v, this.toScreen(this.centers[v]));
    } else if (event.key === "Escape" && this.from !== null) {
      this.setFrom(null);
    } else return;
    event.preventDefault();
  }

  // End the edge that was started with the keyboard or the menu.
  /** @param {number} v @param {string} mark */
  endEdge(v, mark) {
    const from = this.from;
    this.setFrom(null);
    if (from !== null && from !== v) this.actions.draw(from, mark === "move" ? "->" : mark, v);
  }

  /** @param {number | null} v */
  setFrom(v) {
    const before = this.from;
    this.from = v;
    if (before !== null) this.describeBox(before);
    if (v !== null) this.describeBox(v);
    this.actions.say(
      v === null
        ? ""
        : `From ${this.names[v]}: click another variable, or go to it with the arrow keys and press Enter, or b for ↔.`,
    );
  }

  // The nearest box in a direction; distances to the side count twice.
  /** @param {number} v @param {Pair} step */
  nearest(v, [dx, dy]) {
    let best = -1,
      least = Infinity;
    this.centers.forEach(([x, y], u) => {
      const along = (x - this.centers[v][0]) * dx + (y - this.centers[v][1]) * dy;
      const aside = Math.abs((x - this.centers[v][0]) * dy) + Math.abs((y - this.centers[v][1]) * dx);
      if (u !== v && along > 1 && along + 2 * aside < least) [best, least] = [u, along + 2 * aside];
    });
    return best;
  }

  /** @param {number} k @param {any} event */
  onEdgeKey(k, event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 };
    if (event.key in steps) {
      this.parts[(k + steps[event.key] + this.parts.length) % this.parts.length].focus();
    } else if (event.key === "Enter" || event.key === " ") {
      this.actions.edgeMenu(k, this.middleOf(k));
    } else if (!this.actions.edgeKey(k, event)) return;
    event.preventDefault();
  }

  // Highlight the edges that make a change impossible.
  /** @param {Pair[]} pairs */
  highlight(pairs) {
    (this.parts || []).forEach((part, k) => {
      const [a, , b] = this.edges[k];
      part.classList.toggle(
        "highlighted",
        pairs.some(([x, y]) => (x === a && y === b) || (x === b && y === a)),
      );
    });
  }
}
