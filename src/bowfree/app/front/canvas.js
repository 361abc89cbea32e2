// --- canvas: the graph, to be looked at and to be drawn on ---

const READABLE = 0.75,
  LARGEST = 3; // scales at which names can be read, and beyond which nobody goes
const MOST_INTERVALS = 14,
  MOST_WEIGHTS = 45; // edges with labels, unless the user asks for them

class Canvas {
  // `hand` says what a hand may do: draw(a, mark, b), place(v, x, y), edgeMenu(k, place),
  // nodeMenu(v, place), pairMenu(a, b, place), edgeKey(k, key); without it the canvas is read only.
  constructor(host, about, name, hand = null) {
    Object.assign(this, { host, ...about, hand, mode: "->", scale: null, from: null });
    this.edges = [];
    this.bends = new Map();
    this.centres = [];
    this.bands = [];
    this.shown = { labels: "auto", marks: false };
    this.groups = Object.fromEntries(
      ["bands", "rules", "lines", "labels", "boxes", "rubber"].map((part) => [
        part,
        make("svg:g", { class: part }),
      ]),
    );
    this.svg = make(
      "svg:svg",
      { role: "group", "aria-label": name },
      ...Object.values(this.groups),
    );
    this.pan = make("div", { class: "pan" }, this.svg);
    host.append(this.pan);
    this.boxes = this.names.map((_, v) => this.makeBox(v));
    this.groups.boxes.append(...this.boxes);
    if (hand) {
      this.svg.addEventListener("pointermove", (event) => this.drag(event));
      this.svg.addEventListener("pointerup", (event) => this.drop(event));
      this.svg.addEventListener("pointercancel", () => this.letGo());
    }
    new ResizeObserver(() => {
      if (!this.chosenScale) this.fit();
    }).observe(this.pan);
  }

  // --- boxes ---

  makeBox(v) {
    const [w, h] = this.sizes[v];
    const box = make(
      "svg:g",
      { class: "box", tabindex: v === 0 ? 0 : -1, role: "button" },
      make("svg:rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: h / 2 }),
      make("svg:text", { dy: "0.35em" }, this.labels[v]),
      make("svg:title", {}, this.names[v]),
    );
    if (this.hand) {
      box.addEventListener("pointerdown", (event) => this.hold(v, event));
      box.addEventListener("keydown", (event) => this.boxKey(v, event));
    }
    box.addEventListener("focus", () => this.rove(this.boxes, v));
    return box;
  }

  rove(parts, chosen) {
    parts.forEach((part, k) => part.setAttribute("tabindex", k === chosen ? 0 : -1));
  }

  describeBox(v) {
    const near = (mark, end) => this.edges.filter((e) => e[1] === mark && e[end] === v).length;
    const causes = near("->", 2),
      effects = near("->", 0),
      both = near("<->", 0) + near("<->", 2);
    const notes = [
      counted(causes, "cause"),
      counted(effects, "effect"),
      counted(both, "hidden common cause"),
    ];
    const tier = this.knowledge.tiers.findIndex((names) => names.includes(v));
    if (tier >= 0) notes.push(`tier ${tier + 1}`);
    if (this.knowledge.unconfounded.includes(v)) notes.push("unconfounded");
    if (this.from === v) notes.push("an edge begins here");
    this.boxes[v].setAttribute("aria-label", `${this.names[v]}: ${notes.join(", ")}`);
    this.boxes[v].classList.toggle("unconfounded", this.knowledge.unconfounded.includes(v));
    this.boxes[v].classList.toggle("from", this.from === v);
  }

  // --- what is shown ---

  setPlaces(centres, bands) {
    this.centres = centres.map((centre) => [...centre]);
    this.bands = bands;
    this.bends.clear();
    this.chosenScale = false;
    this.drawAll();
    this.fit();
  }

  // `about` has knowledge, estimates, ends, shares, and `differs`: edges by which another graph is
  // another one.
  setGraph(edges, about) {
    Object.assign(this, { edges, knowledge: about.knowledge, about });
    this.drawAll();
  }

  drawAll() {
    if (!this.centres.length || !this.knowledge) return;
    const kept = new Map();
    const lines = [];
    for (const edge of this.edges) {
      const key = edge.join();
      const bend = chooseBend(edge, this.bends.get(key), this.centres, this.sizes, lines);
      kept.set(key, bend);
      lines.push(at(whole(this.centres[edge[0]], this.centres[edge[2]], bend), 0.5));
    }
    this.bends = kept;
    this.takeParts();
    this.drawRules();
    this.drawBands();
    this.boxes.forEach((box, v) => {
      box.setAttribute("transform", `translate(${xy(this.centres[v])})`);
      this.describeBox(v);
    });
    this.edges.forEach((_, k) => this.drawEdge(k));
    this.drawLabels();
  }

  // One element for each pair that has an edge. It stays as long as the pair has one: whoever is
  // clicking on it, or has the focus there, does not notice that it changes.
  takeParts() {
    const before = this.partOf || new Map(),
      home = document.activeElement;
    this.partOf = new Map();
    this.parts = this.edges.map(([a, , b], k) => {
      const pair = `${Math.min(a, b)},${Math.max(a, b)}`;
      const part = before.get(pair) || this.makeEdge(pair);
      this.partOf.set(pair, part);
      part.place = k;
      return part;
    });
    for (const [pair, part] of before) {
      if (this.partOf.has(pair)) continue;
      part.remove();
      if (part === home) this.boxes[Number(pair.split(",")[0])].focus();
    }
    this.parts.forEach((part, k) => {
      if (!part.isConnected) this.groups.lines.append(part);
      this.dressEdge(part, k);
    });
    if (!this.parts.some((part) => part.getAttribute("tabindex") === "0")) this.rove(this.parts, 0);
  }

  isLocked([a, , b]) {
    return this.knowledge.required.some(
      (e) => (e[0] === a && e[2] === b) || (e[0] === b && e[2] === a),
    );
  }

  makeEdge(pair) {
    const part = make(
      "svg:g",
      { tabindex: -1, role: "button", "data-pair": pair },
      make("svg:path", { class: "touch" }),
      make("svg:path", { class: "line" }),
      make("svg:path", { class: "head" }),
      make("svg:path", { class: "head" }),
      make("svg:circle", { class: "mark", r: RADIUS }),
      make("svg:circle", { class: "mark", r: RADIUS }),
      make("svg:path", {
        class: "lock",
        d: "M-4,-1 h8 v6 h-8 Z M-2.5,-1 v-2 a2.5,2.5 0 0 1 5,0 v2",
      }),
      make("svg:title"),
    );
    part.addEventListener("focus", () => this.rove(this.parts, part.place));
    if (this.hand) {
      part.addEventListener("click", (event) =>
        this.hand.edgeMenu(part.place, [event.clientX, event.clientY]),
      );
      part.addEventListener("keydown", (event) => this.edgeKey(part.place, event));
    }
    return part;
  }

  dressEdge(part, k) {
    const locked = this.isLocked(this.edges[k]),
      differs = this.about.differs ? this.about.differs[k] : null;
    const kind = this.edges[k][1] === "->" ? "directed" : "bidirected",
      text = this.describeEdge(k, locked, differs);
    part.setAttribute(
      "class",
      `edge ${kind}${differs ? ` ${differs}` : ""}${locked ? " locked" : ""}`,
    );
    part.setAttribute("aria-label", text);
    part.querySelector("title").textContent = text;
  }

  describeEdge(k, locked, differs) {
    const [a, mark, b] = this.edges[k];
    const notes = [`${this.names[a]} ${ARROWS[mark]} ${this.names[b]}`];
    const e = this.about.estimates && this.about.estimates[k];
    if (e) {
      notes.push(
        `${significant(e.estimate)} (${significant(e.low)} to ${significant(e.high)})`,
        `standardised ${fixed(e.std, 2)}`,
        pText(e.p_value),
      );
    }
    const share = this.shareOf(k);
    if (!missing(share))
      notes.push(
        `${percent(share)} of ${this.about.shares.of === "resamples" ? "the resamples" : "probability"}`,
      );
    if (this.about.ends)
      notes.push(this.about.ends[k].includes("circle") ? "not settled by any data" : "settled");
    if (locked) notes.push("locked");
    if (differs)
      notes.push(differs === "only" ? "only in this graph" : "another edge in the other graph");
    return notes.filter(Boolean).join(", ");
  }

  shareOf(k) {
    const shares = this.about.shares;
    if (!shares) return null;
    const [a, mark, b] = this.edges[k];
    const row = shares.rows.find(
      (r) =>
        r[1] === mark &&
        ((r[0] === a && r[2] === b) || (mark === "<->" && r[0] === b && r[2] === a)),
    );
    return row ? row[3] : 0;
  }

  curveOf(k) {
    const [a, , b] = this.edges[k];
    const curve = whole(
      this.centres[a],
      this.centres[b],
      this.bends.get(this.edges[k].join()) || 0,
    );
    return between(
      curve,
      [a, b].map((v) => [this.centres[v], this.sizes[v]]),
    );
  }

  drawEdge(k) {
    const part = this.parts[k],
      points = this.curveOf(k);
    part.style.visibility = points ? "" : "hidden";
    if (!points) return;
    const own = this.edges[k][1] === "->" ? ["tail", "head"] : ["head", "head"];
    const marks = this.shown.marks && this.about.ends ? this.about.ends[k] : own;
    part.classList.toggle("varying", marks.includes("circle"));
    const drawn = drawnEnds(points, marks);
    const [touch, line, ...heads] = part.querySelectorAll("path");
    touch.setAttribute("d", drawn.line);
    line.setAttribute("d", drawn.line);
    const e = this.about.estimates && this.about.estimates[k];
    line.setAttribute(
      "stroke-width",
      (1.2 + 1.7 * Math.min(Math.abs((e && e.std) || 0), 1)).toFixed(2),
    );
    part.querySelectorAll("circle").forEach((circle, side) => {
      const centre = drawn.circles[side];
      circle.setAttribute("visibility", centre ? "inherit" : "hidden");
      if (centre) {
        circle.setAttribute("cx", centre[0].toFixed(1));
        circle.setAttribute("cy", centre[1].toFixed(1));
      }
      heads[side].setAttribute("d", drawn.heads[side]);
    });
    part.querySelector(".lock").setAttribute("transform", `translate(${xy(at(points, 0.13))})`);
  }

  drawLabels() {
    const few = this.edges.length;
    let kind = this.shown.labels;
    if (kind === "auto")
      kind = few <= MOST_INTERVALS ? "intervals" : few <= MOST_WEIGHTS ? "estimates" : "none";
    const labels = [],
      taken = [];
    this.edges.forEach((edge, k) => {
      const e = this.about.estimates && this.about.estimates[k],
        share = this.shareOf(k);
      let text = "";
      if (kind === "shares") text = missing(share) ? "" : percent(share);
      else if (e && kind === "standardised") text = fixed(e.std, 2);
      else if (e && kind !== "none") text = significant(e.estimate);
      const more =
        e && kind === "intervals" && !missing(e.low)
          ? `${significant(e.low, 2)} to ${significant(e.high, 2)}`
          : "";
      const points = text && this.curveOf(k);
      if (!points) return;
      const size = [6.6 * Math.max(text.length, 0.72 * more.length) + 6, more ? 24 : 13];
      const spot = this.labelSpot(points, size, taken);
      taken.push([spot, size]);
      labels.push(
        make(
          "svg:g",
          {
            class: `weight ${edge[1] === "->" ? "directed" : "bidirected"}`,
            transform: `translate(${xy(spot)})`,
          },
          make("svg:rect", {
            x: -size[0] / 2,
            y: -size[1] / 2,
            width: size[0],
            height: size[1],
            rx: 3,
          }),
          make("svg:text", { dy: more ? "-0.15em" : "0.35em" }, text),
          more ? make("svg:text", { class: "interval", dy: "0.95em" }, more) : null,
        ),
      );
    });
    this.groups.labels.replaceChildren(...labels);
  }

  // The place along a curve where a label hides least.
  labelSpot(points, size, taken) {
    let best = at(points, 0.5),
      least = Infinity;
    for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74]) {
      const spot = at(points, t);
      let cost = 0.2 * Math.abs(t - 0.5);
      const over = (centre, other) => {
        const x = (size[0] + other[0]) / 2 - Math.abs(spot[0] - centre[0]);
        const y = (size[1] + other[1]) / 2 - Math.abs(spot[1] - centre[1]);
        if (x > 0 && y > 0) cost += Math.min(x, y);
      };
      for (const [centre, other] of taken) over(centre, other);
      this.centres.forEach((centre, v) => over(centre, this.sizes[v]));
      if (cost < least) [best, least] = [spot, cost];
    }
    return best;
  }

  // Forbidden edges: dashed lines that cannot be mistaken for edges.
  drawRules() {
    const lines = this.edges.map((edge) =>
      at(whole(this.centres[edge[0]], this.centres[edge[2]], this.bends.get(edge.join())), 0.5),
    );
    this.groups.rules.replaceChildren(
      ...this.knowledge.forbidden.map(([a, mark, b]) => {
        const bend = chooseBend([a, "->", b], undefined, this.centres, this.sizes, lines);
        const points = between(
          whole(this.centres[a], this.centres[b], bend),
          [a, b].map((v) => [this.centres[v], this.sizes[v]]),
        );
        const text = `forbidden: ${this.names[a]} ${ARROWS[mark]} ${this.names[b]}`;
        const spot = points ? this.labelSpot(points, [20, 20], []) : this.centres[a];
        const rule = make(
          "svg:g",
          { class: "rule", tabindex: 0, role: "button", "aria-label": text },
          make("svg:path", {
            class: "touch",
            d: points ? `M${xy(points[0])} Q${xy(points[1])} ${xy(points[2])}` : "",
          }),
          make("svg:path", {
            class: "line",
            d: points ? `M${xy(points[0])} Q${xy(points[1])} ${xy(points[2])}` : "",
          }),
          make(
            "svg:g",
            { transform: `translate(${xy(spot)})` },
            make("svg:circle", { r: 8 }),
            make("svg:text", { dy: "0.36em" }, mark === "--" ? "✕" : ARROWS[mark]),
          ),
          make("svg:title", {}, text),
        );
        if (this.hand) {
          rule.addEventListener("click", (event) =>
            this.hand.pairMenu(a, b, [event.clientX, event.clientY]),
          );
          rule.addEventListener("keydown", (event) => {
            if (["Enter", " ", "Delete", "Backspace"].includes(event.key)) {
              event.preventDefault();
              const r = rule.getBoundingClientRect();
              this.hand.pairMenu(a, b, [(r.left + r.right) / 2, (r.top + r.bottom) / 2]);
            }
          });
        }
        return rule;
      }),
    );
  }

  drawBands() {
    const [left, , width] = this.frame();
    this.groups.bands.replaceChildren(
      ...this.bands.flatMap(([top, bottom], k) => [
        make("svg:rect", {
          class: k % 2 ? "odd" : "even",
          x: left,
          y: top,
          width,
          height: bottom - top,
        }),
        make("svg:text", { x: left + 8, y: top + 16 }, `tier ${k + 1}`),
      ]),
    );
  }

  // --- size ---

  frame() {
    const margin = 26;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    this.centres.forEach(([x, y], v) => {
      const [w, h] = this.sizes[v];
      x0 = Math.min(x0, x - w / 2);
      x1 = Math.max(x1, x + w / 2);
      y0 = Math.min(y0, y - h / 2);
      y1 = Math.max(y1, y + h / 2);
    });
    for (const [top, bottom] of this.bands) {
      y0 = Math.min(y0, top + margin);
      y1 = Math.max(y1, bottom - margin);
    }
    (this.edges || []).forEach((_, k) => {
      const points = this.parts && this.parts[k] ? this.curveOf(k) : null;
      for (const t of points ? [0.25, 0.5, 0.75] : []) {
        const [x, y] = at(points, t);
        x0 = Math.min(x0, x);
        x1 = Math.max(x1, x);
        y0 = Math.min(y0, y);
        y1 = Math.max(y1, y);
      }
    });
    return [x0 - margin, y0 - margin, x1 - x0 + 2 * margin, y1 - y0 + 2 * margin];
  }

  fit(least = READABLE) {
    if (!this.centres.length || !this.pan.clientWidth) return;
    const [, , width, height] = this.frame();
    const most = Math.min(1.3, this.pan.clientWidth / width, this.pan.clientHeight / height);
    this.setScale(Math.max(most, least));
    this.chosenScale = false;
    // Where not all of it can be seen, there is at least something: the middle of the first rows.
    const [left, top] = this.frame(),
      high = Math.min(...this.centres.map((centre) => centre[1]));
    const near = this.centres.filter(
      (centre) => centre[1] < high + this.pan.clientHeight / this.scale,
    );
    const middle = near.reduce((sum, centre) => sum + centre[0], 0) / near.length;
    this.pan.scrollLeft = this.scale * (middle - left) - this.pan.clientWidth / 2;
    this.pan.scrollTop = this.scale * (high - top) - 40;
  }

  setScale(scale) {
    this.scale = Math.min(Math.max(scale, 0.1), LARGEST);
    this.chosenScale = true;
    const frame = this.frame();
    this.svg.setAttribute("viewBox", frame.map((x) => x.toFixed(1)).join(" "));
    this.svg.style.width = `${Math.round(this.scale * frame[2])}px`;
    this.svg.style.height = `${Math.round(this.scale * frame[3])}px`;
    this.drawBands();
  }

  toScreen(point) {
    const place = new DOMPoint(...point).matrixTransform(this.svg.getScreenCTM());
    return [place.x, place.y];
  }

  fromScreen(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      this.svg.getScreenCTM().inverse(),
    );
    return [place.x, place.y];
  }

  middleOf(k) {
    const points = this.curveOf(k);
    return this.toScreen(points ? at(points, 0.5) : this.centres[this.edges[k][0]]);
  }

  boxAt(point) {
    return this.centres.findIndex((centre, v) => boxDistance(point, centre, this.sizes[v]) <= 3);
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
      grip: [this.centres[v][0] - place[0], this.centres[v][1] - place[1]],
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
    const end = target >= 0 && target !== held.v ? this.centres[target] : place;
    const bend = held.mark === "<->" ? 0.2 : 0;
    const [a, b, c] = whole(this.centres[held.v], end, bend);
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
      this.hand.nodeMenu(v, this.toScreen(this.centres[v]));
    } else if (held.moving) {
      this.hand.place(v, ...this.centres[v]);
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
    this.centres[v] = [x, y];
    this.boxes[v].setAttribute("transform", `translate(${xy(this.centres[v])})`);
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
      this.moveBox(v, this.centres[v][0] + 12 * step[0], this.centres[v][1] + 12 * step[1]);
      this.hand.place(v, ...this.centres[v]);
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
      this.hand.nodeMenu(v, this.toScreen(this.centres[v]));
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
    this.centres.forEach(([x, y], u) => {
      const along = (x - this.centres[v][0]) * dx + (y - this.centres[v][1]) * dy;
      const aside =
        Math.abs((x - this.centres[v][0]) * dy) + Math.abs((y - this.centres[v][1]) * dx);
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
