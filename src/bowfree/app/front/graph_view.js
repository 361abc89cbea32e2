// @ts-check
// --- graph view: a drawing of a graph ---

const READABLE = 0.82,
  LARGEST = 3; // smallest scale with readable names, and largest scale

class GraphView {
  /** @type {string[]} */ names;
  /** @type {string[]} */ labels;
  /** @type {Point[]} */ sizes;
  /** @type {HTMLElement} */ host;
  /** @type {Edge[]} */ edges = [];
  /** @type {any[]} */ parts = []; // elements of the edges
  /** @type {Curves} */ curves = {}; // by edge, from the session
  /** @type {Point[]} */ centers = [];
  /** @type {Pair[]} */ bands = [];
  /** @type {Knowledge} */ knowledge;
  /** @type {Details} */ details;
  /** @type {number} */ scale = 0; // 0 before the first drawing
  /** @type {Point} */ origin;
  userScale = false;
  /** @type {Overview | null} */ overview = null;
  /** @type {Map<string, any>} */ partOf = new Map(); // elements of the edges, by pair

  /** @param {HTMLElement} host @param {Variables} variables @param {string} name */
  constructor(host, variables, name) {
    Object.assign(this, { host, ...variables });
    this.moved = new Set(); // boxes that were moved since
    this.display = { labels: "auto", marks: "graph", least: 0, suggestions: true };
    this.groups = Object.fromEntries(
      ["bands", "rules", "ghosts", "lines", "labels", "boxes", "rubber"].map((part) => [
        part,
        make("svg:g", { class: part }),
      ]),
    );
    this.svg = make("svg:svg", { role: "group", "aria-label": name }, ...Object.values(this.groups));
    this.pan = make("div", { class: "pan" }, this.svg);
    host.append(this.pan);
    this.boxes = this.names.map((_, v) => this.makeBox(v));
    this.groups.boxes.append(...this.boxes);
    on(
      this.pan,
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.metaKey && this.pan.scrollHeight > this.pan.clientHeight + 4) return;
        event.preventDefault();
        this.zoomAt(this.scale * Math.exp(-event.deltaY / 400), [event.clientX, event.clientY]);
      },
      { passive: false },
    );
    // Drag the background to pan.
    on(this.svg, "pointerdown", (event) => {
      if (event.target !== this.svg || event.button || event.pointerType === "touch") return;
      const [x, y] = [event.clientX + this.pan.scrollLeft, event.clientY + this.pan.scrollTop];
      /** @type {(e: any) => any} */
      const move = (e) => this.pan.scrollTo(x - e.clientX, y - e.clientY);
      const end = () => {
        removeEventListener("pointermove", move);
        removeEventListener("pointerup", end);
      };
      addEventListener("pointermove", move);
      addEventListener("pointerup", end);
    });
    new ResizeObserver(() => {
      if (!this.userScale) this.fit();
    }).observe(this.pan);
  }

  // --- boxes ---

  /** @param {number} v */
  makeBox(v) {
    const [w, h] = this.sizes[v];
    const box = make(
      "svg:g",
      { class: "box", tabindex: v === 0 ? 0 : -1, role: "button" },
      make("svg:rect", { x: -w / 2, y: -h / 2, width: w, height: h, rx: h / 2 }),
      make("svg:text", { dy: "0.35em" }, this.labels[v]),
      make("svg:title", {}, this.names[v]),
    );
    on(box, "focus", () => this.setTabStop(this.boxes, v));
    return box;
  }

  // Make one of the elements reachable with the Tab key.
  /** @param {any[]} parts @param {number} chosen */
  setTabStop(parts, chosen) {
    parts.forEach((part, k) => part.setAttribute("tabindex", k === chosen ? 0 : -1));
  }

  /** @param {number} v */
  describeBox(v) {
    /** @type {(mark: string, end: number) => any} */
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
    const role = this.details.question ? this.details.question.indexOf(v) : -1;
    if (role >= 0) notes.push(["exposure", "outcome"][role]);
    this.boxes[v].classList.toggle("exposure", role === 0);
    this.boxes[v].classList.toggle("outcome", role === 1);
    notes.push(...this.notesOf(v));
    this.boxes[v].setAttribute("aria-label", `${this.names[v]}: ${notes.join(", ")}`);
    this.boxes[v].classList.toggle("unconfounded", this.knowledge.unconfounded.includes(v));
  }

  // Further notes about a box.
  /** @param {number} _v @returns {string[]} */
  notesOf(_v) {
    return [];
  }

  // --- content ---

  // A new arrangement is shown as a whole; after the move of one box the view stays as it is.
  /** @param {{ centers: Point[], bands: Pair[], curves: Curves }} positions */
  setPositions({ centers, bands, curves }) {
    const different = centers.filter((center, v) => {
      const [x, y] = this.centers[v] || [];
      return Math.hypot(center[0] - x, center[1] - y) > 0.1 || x === undefined;
    });
    const arranged = different.length > 1 || !this.scale;
    this.centers = centers.map((center) => [...center]);
    this.bands = bands;
    this.curves = curves;
    this.moved.clear();
    this.drawAll();
    if (arranged) this.fit();
    else this.keepScale();
  }

  // `details` has knowledge, estimates, ends, shares, and `differs`, the differences from another
  // graph.
  /** @param {Edge[]} edges @param {Details} details */
  setGraph(edges, details) {
    Object.assign(this, { edges, knowledge: details.knowledge, details });
    this.curves = details.curves || this.curves;
    this.drawAll();
  }

  drawAll() {
    if (!this.centers.length || !this.knowledge) return;
    this.updateParts();
    this.drawRules();
    this.groups.bands.replaceChildren(...bandParts(this));
    this.boxes.forEach((box, v) => {
      box.setAttribute("transform", `translate(${xy(this.centers[v])})`);
      this.describeBox(v);
    });
    this.edges.forEach((_, k) => this.drawEdge(k));
    this.groups.ghosts.replaceChildren(...ghostParts(this));
    this.drawLabels();
  }

  drawLabels() {
    this.groups.labels.replaceChildren(...labelParts(this));
  }

  drawRules() {
    this.groups.rules.replaceChildren(...ruleParts(this));
  }

  // One element for each adjacent pair. It is kept while the pair is adjacent, with its focus.
  updateParts() {
    const before = this.partOf,
      focused = this.svg.getRootNode().activeElement;
    this.partOf = new Map();
    this.parts = this.edges.map(([a, , b], k) => {
      const pair = `${Math.min(a, b)},${Math.max(a, b)}`;
      const part = before.get(pair) || this.makeEdge(pair);
      this.partOf.set(pair, part);
      part.index = k;
      return part;
    });
    for (const [pair, part] of before) {
      if (this.partOf.has(pair)) continue;
      part.remove();
      if (part === focused) this.boxes[Number(pair.split(",")[0])].focus();
    }
    this.parts.forEach((part, k) => {
      if (!part.isConnected) this.groups.lines.append(part);
      this.updateEdge(part, k);
    });
    if (!this.parts.some((part) => part.getAttribute("tabindex") === "0")) this.setTabStop(this.parts, 0);
  }

  /** @param {Edge} edge */
  isLocked([a, , b]) {
    return this.knowledge.required.some((e) => (e[0] === a && e[2] === b) || (e[0] === b && e[2] === a));
  }

  /** @param {string} pair */
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
      make("svg:path", { class: "lock", d: "M-4,-1 h8 v6 h-8 Z M-2.5,-1 v-2 a2.5,2.5 0 0 1 5,0 v2" }),
      make("svg:title"),
    );
    on(part, "focus", () => this.setTabStop(this.parts, part.index));
    return part;
  }

  /** @param {any} part @param {number} k */
  updateEdge(part, k) {
    const locked = this.isLocked(this.edges[k]),
      differs = this.details.differs ? this.details.differs[k] : null;
    const kind = this.edges[k][1] === "->" ? "directed" : "bidirected",
      path = this.pathKind(k),
      text = this.describeEdge(k, locked, differs);
    part.setAttribute("class", `edge ${kind} ${differs || ""} ${path} ${locked ? "locked" : ""}`);
    part.setAttribute("aria-label", text);
    part.querySelector("title").textContent = text;
  }

  // Whether an edge is on a causal or a biasing path of the selected effect, or aside.
  /** @param {number} k */
  pathKind(k) {
    const { paths } = this.details;
    if (!paths?.causal) return "";
    if (paths.causal.includes(k)) return "causal";
    return paths.biasing.includes(k) ? "biasing" : "aside";
  }

  /** @param {number} k @param {boolean} locked @param {string | null} differs */
  describeEdge(k, locked, differs) {
    const [a, mark, b] = this.edges[k];
    const notes = [`${this.names[a]} ${ARROWS[mark]} ${this.names[b]}`];
    const e = this.details.estimates?.[k];
    if (e) {
      notes.push(
        `${significant(e.estimate)} (${significant(e.low)} to ${significant(e.high)})`,
        `standardized ${fixed(e.standardized, 2)}`,
        pText(e.p_value),
      );
    }
    notes.push(this.describeShare(k));
    if (this.details.ends)
      notes.push(
        this.details.ends[k].includes("circle")
          ? "differs between equivalent graphs"
          : "same in all equivalent graphs",
      );
    if (["causal", "biasing"].includes(this.pathKind(k))) notes.push(`on a ${this.pathKind(k)} path`);
    if (locked) notes.push("locked");
    if (differs) notes.push(differs === "only" ? "only in this graph" : "different in the other graph");
    return notes.filter(Boolean).join(", ");
  }

  /** @param {number} k */
  describeShare(k) {
    const share = this.shareOf(k);
    if (missing(share) || !this.details.shares) return "";
    return this.details.shares.of === "resamples"
      ? `in ${percent(share)} of the resamples`
      : `probability ${percent(share)}`;
  }

  /** @param {number} k */
  shareOf(k) {
    const shares = this.details.shares;
    if (!shares) return null;
    const [a, mark, b] = this.edges[k];
    const row = shares.rows.find(
      (r) => r[1] === mark && ((r[0] === a && r[2] === b) || (mark === "<->" && r[0] === b && r[2] === a)),
    );
    return row ? row[3] : 0;
  }

  /** @param {number} k */
  curveOf(k) {
    return this.curveOfEdge(this.edges[k]);
  }

  // The curve that the session has chosen; while a box moves, a simple curve with the same bend.
  /** @param {Edge} edge @returns {any} */
  curveOfEdge([a, mark, b]) {
    const found = this.curves[`${a},${mark},${b}`];
    if (found && !this.moved.has(a) && !this.moved.has(b)) return found.points;
    return clipped(
      fullCurve(this.centers[a], this.centers[b], found ? found.bend : mark === "<->" ? 0.2 : 0),
      [a, b].map((v) => [this.centers[v], this.sizes[v]]),
    );
  }

  // Whether an edge is weaker than the limit of the edge filter.
  /** @param {number} k */
  isWeak(k) {
    const e = this.details.estimates?.[k];
    return e ? Math.abs(e.standardized || 0) < this.display.least : false;
  }

  /** @param {number} k */
  drawEdge(k) {
    const part = this.parts[k],
      points = this.curveOf(k);
    part.style.visibility = points && !this.isWeak(k) ? "" : "hidden";
    if (!points) return;
    const own = this.edges[k][1] === "->" ? ["tail", "head"] : ["head", "head"];
    const marks = this.display.marks !== "graph" && this.details.ends ? this.details.ends[k] : own;
    part.classList.toggle("varying", marks.includes("circle"));
    const drawn = edgeShape(points, marks);
    const [touch, line, ...heads] = part.querySelectorAll("path");
    touch.setAttribute("d", drawn.line);
    line.setAttribute("d", drawn.line);
    const e = this.details.estimates?.[k];
    line.setAttribute("stroke-width", (1.2 + 1.7 * Math.min(Math.abs(e?.standardized || 0), 1)).toFixed(2));
    [...part.querySelectorAll("circle")].forEach((circle, side) => {
      const center = drawn.circles[side];
      circle.setAttribute("visibility", center ? "inherit" : "hidden");
      if (center) {
        circle.setAttribute("cx", center[0].toFixed(1));
        circle.setAttribute("cy", center[1].toFixed(1));
      }
      heads[side].setAttribute("d", drawn.heads[side]);
    });
    part.querySelector(".lock").setAttribute("transform", `translate(${xy(at(points, 0.13))})`);
  }

  // Clicks on forbidden and suggested edges; nothing happens in a view that cannot be edited.
  /** @param {number} _a @param {number} _b @param {Point} _point */
  onRuleClick(_a, _b, _point) {}
  /** @param {Edge} _edge */
  onGhostClick(_edge) {}

  // --- size ---

  frame() {
    const margin = 26;
    let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
    this.centers.forEach(([x, y], v) => {
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
      const points = this.parts?.[k] ? this.curveOf(k) : null;
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
    if (!this.centers.length || !this.pan.clientWidth) return;
    const [, , width, height] = this.frame();
    const below = parseFloat(getComputedStyle(this.pan).paddingBottom); // covered by the zoom buttons
    const free = this.pan.clientHeight - below;
    const most = Math.min(1.3, this.pan.clientWidth / width, free / height);
    this.setScale(Math.max(most, least));
    this.userScale = false;
    // If not everything is visible, show the middle of the first rows.
    const [left, top] = this.frame(),
      high = Math.min(...this.centers.map((center) => center[1]));
    const near = this.centers.filter((center) => center[1] < high + this.pan.clientHeight / this.scale);
    const middle = near.reduce((sum, center) => sum + center[0], 0) / near.length;
    this.pan.scrollLeft = this.scale * (middle - left) - this.pan.clientWidth / 2;
    this.pan.scrollTop = this.scale * (high - top) - 40;
  }

  // Draw at the same scale, with every box where it was on the screen.
  keepScale() {
    const before = this.origin,
      chosen = this.userScale;
    this.setScale(this.scale);
    this.userScale = chosen;
    this.pan.scrollLeft += this.scale * (before[0] - this.origin[0]);
    this.pan.scrollTop += this.scale * (before[1] - this.origin[1]);
  }

  // Zoom so that a point on the screen, by default the middle, stays where it is.
  /** @param {number} scale @param {Point | null} point */
  zoomAt(scale, point = null) {
    const box = this.pan.getBoundingClientRect();
    const [x, y] = point || [box.left + box.width / 2, box.top + box.height / 2];
    const place = this.fromScreen({ clientX: x, clientY: y });
    this.setScale(scale);
    const now = this.toScreen(place);
    this.pan.scrollLeft += now[0] - x;
    this.pan.scrollTop += now[1] - y;
  }

  /** @param {number} scale */
  setScale(scale) {
    this.scale = Math.min(Math.max(scale, 0.1), LARGEST);
    this.userScale = true;
    const frame = this.frame();
    this.origin = [frame[0], frame[1]];
    this.svg.setAttribute("viewBox", frame.map((x) => x.toFixed(1)).join(" "));
    this.svg.style.width = `${this.scale * frame[2]}px`;
    this.svg.style.height = `${this.scale * frame[3]}px`;
    this.groups.bands.replaceChildren(...bandParts(this));
    this.overview?.update();
  }

  /** @param {Point} point @returns {Point} */
  toScreen(point) {
    const place = new DOMPoint(...point).matrixTransform(this.svg.getScreenCTM());
    return [place.x, place.y];
  }

  /** @param {{ clientX: number, clientY: number }} event @returns {Point} */
  fromScreen(event) {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      this.svg.getScreenCTM().inverse(),
    );
    return [place.x, place.y];
  }

  /** @param {number} k */
  middleOf(k) {
    const points = this.curveOf(k);
    return this.toScreen(points ? at(points, 0.5) : this.centers[this.edges[k][0]]);
  }
}
