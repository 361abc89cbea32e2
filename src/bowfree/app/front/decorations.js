// @ts-check
// --- decorations: labels of edges, forbidden edges, bands ---

const MAX_LABELED = 45; // edges that are labeled by default

// Labels of edges, where the session has placed them.
/** @param {GraphView} view */
function labelParts(view) {
  let kind = view.display.labels;
  if (kind === "auto") {
    const several = view.edges.length > MAX_LABELED;
    kind = several ? "none" : view.details.shares ? "shares" : "standardized";
  }
  return view.edges.flatMap((edge, k) => {
    const e = view.details.estimates?.[k],
      share = view.shareOf(k),
      points = view.curveOf(k);
    let text = "";
    if (kind === "shares") text = missing(share) ? "" : percent(share);
    else if (e && kind === "standardized") text = fixed(e.standardized, 2);
    else if (e && kind !== "none") text = significant(e.estimate);
    if (!text || !points || view.isWeak(k)) return [];
    const more =
      e && kind === "intervals" && !missing(e.low)
        ? `${significant(e.low, 2)} to ${significant(e.high, 2)}`
        : "";
    const size = [7.6 * Math.max(text.length, more.length) + 4, more ? 27 : 14];
    const [a, mark, b] = edge,
      found = view.curves[edge.join()];
    const still = found && !view.moved.has(a) && !view.moved.has(b);
    const spot = (still && (found[more ? "wide" : "spot"] || found.spot)) || at(points, 0.5);
    const half = { x: -size[0] / 2, y: -size[1] / 2 };
    return [
      make(
        "svg:g",
        { class: `weight ${mark === "->" ? "directed" : "bidirected"}`, transform: `translate(${xy(spot)})` },
        make("svg:rect", { ...half, width: size[0], height: size[1], rx: 3 }),
        make("svg:text", { dy: more ? "-0.1em" : "0.35em" }, text),
        more ? make("svg:text", { class: "interval", dy: "0.95em" }, more) : null,
      ),
    ];
  });
}

// Make an element behave like a button with a menu or an action at its middle.
/** @param {any} element @param {(point: Point) => void} act */
function onActivate(element, act) {
  on(element, "click", (event) => act([event.clientX, event.clientY]));
  on(element, "keydown", (event) => {
    if (!["Enter", " ", "Delete", "Backspace"].includes(event.key)) return;
    event.preventDefault();
    const r = element.getBoundingClientRect();
    act([(r.left + r.right) / 2, (r.top + r.bottom) / 2]);
  });
}

// Forbidden edges, as dashed lines.
/** @param {GraphView} view */
function ruleParts(view) {
  return view.knowledge.forbidden.map(([a, mark, b]) => {
    const points = view.curveOfEdge([a, "--", b]);
    const text = `forbidden: ${view.names[a]} ${ARROWS[mark]} ${view.names[b]}`;
    const line = points ? curvePath(points) : "";
    const spot = points ? at(points, 0.5) : view.centers[a];
    const rule = make(
      "svg:g",
      { class: "rule", tabindex: 0, role: "button", "aria-label": text },
      make("svg:path", { class: "touch", d: line }),
      make("svg:path", { class: "line", d: line }),
      make(
        "svg:g",
        { transform: `translate(${xy(spot)})` },
        make("svg:circle", { r: 8 }),
        make("svg:text", { dy: "0.36em" }, mark === "--" ? "✕" : ARROWS[mark]),
      ),
      make("svg:title", {}, text),
    );
    onActivate(rule, (point) => view.onRuleClick(a, b, point));
    return rule;
  });
}

// The best additions, as faint dashed edges; a click takes one.
/** @param {GraphView} view */
function ghostParts(view) {
  const found = view.details.suggestions;
  if (!found || !view.display.suggestions) return [];
  return found
    .map(({ a, after, b, score }) => {
      /** @type {Edge} */
      const edge = after === "<-" ? [b, "->", a] : [a, after, b];
      const points = view.curveOfEdge(edge);
      if (!points) return null;
      const drawn = edgeShape(points, edge[1] === "<->" ? ["head", "head"] : ["tail", "head"]);
      const text = `Suggestion: add ${view.names[edge[0]]} ${ARROWS[edge[1]]} ${view.names[edge[2]]}, score ${signed(score, 4)}`;
      const ghost = make(
        "svg:g",
        {
          class: `ghost ${edge[1] === "<->" ? "bidirected" : "directed"}`,
          tabindex: 0,
          role: "button",
          "aria-label": text,
        },
        make("svg:path", { class: "touch", d: drawn.line }),
        make("svg:path", { class: "line", d: drawn.line }),
        drawn.heads.map((d) => make("svg:path", { class: "head", d })),
        make("svg:title", {}, `${text}. Click to add it.`),
      );
      onActivate(ghost, () => view.onGhostClick(edge));
      return ghost;
    })
    .filter(Boolean);
}

// Tiers, as bands.
/** @param {GraphView} view */
function bandParts(view) {
  const [left, , width] = view.frame();
  return view.bands.flatMap(([top, bottom], k) => [
    make("svg:rect", { class: k % 2 ? "odd" : "even", x: left, y: top, width, height: bottom - top }),
    make("svg:text", { x: left + 8, y: top + 16 }, `tier ${k + 1}`),
  ]);
}
