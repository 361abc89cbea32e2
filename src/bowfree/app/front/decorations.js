// --- decorations: labels of edges, forbidden edges, bands ---

const MAX_INTERVALS = 14,
  MAX_ESTIMATES = 45; // edges that are labeled by default

// Labels of edges, placed where they hide least.
function labelParts(view) {
  const n = view.edges.length;
  let kind = view.display.labels;
  if (kind === "auto")
    kind = n <= MAX_INTERVALS ? "intervals" : n <= MAX_ESTIMATES ? "estimates" : "none";
  const labels = [],
    taken = [],
    lines = view.edges.map((_, k) => pointsOn(view.curveOf(k)));
  view.edges.forEach((edge, k) => {
    const e = view.details.estimates && view.details.estimates[k],
      share = view.shareOf(k);
    let text = "";
    if (kind === "shares") text = missing(share) ? "" : percent(share);
    else if (e && kind === "standardized") text = fixed(e.standardized, 2);
    else if (e && kind !== "none") text = significant(e.estimate);
    const more =
      e && kind === "intervals" && !missing(e.low)
        ? `${significant(e.low, 2)} to ${significant(e.high, 2)}`
        : "";
    const points = text && view.curveOf(k);
    if (!points) return;
    const size = [6.6 * Math.max(text.length, 0.72 * more.length) + 6, more ? 24 : 13];
    const others = lines.filter((_, other) => other !== k).flat();
    const spot = labelSpot(view, points, size, taken, others);
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
  return labels;
}

// Points on a curve that a label should not hide.
function pointsOn(curve) {
  return curve ? Array.from({ length: 19 }, (_, k) => at(curve, (k + 1) / 20)) : [];
}

// The position where a label hides least: on its curve, or beside a curve that is too short.
function labelSpot(view, points, size, taken, others = []) {
  const chord = [points[2][0] - points[0][0], points[2][1] - points[0][1]],
    length = Math.hypot(...chord) || 1;
  const across = [-chord[1] / length, chord[0] / length];
  // Length of the curve under a label on it, and distance of a label beside it.
  const along = Math.min(
    (length * size[0]) / Math.abs(chord[0]),
    (length * size[1]) / Math.abs(chord[1]),
  );
  const away = (Math.abs(across[0]) * size[0] + Math.abs(across[1]) * size[1]) / 2 + 4;
  const hidden = 20 * Math.max(0, along / length - 0.5);
  let best = at(points, 0.5),
    least = Infinity;
  const consider = (spot, own) => {
    let cost = own;
    const over = (center, other) => {
      const x = (size[0] + other[0]) / 2 - Math.abs(spot[0] - center[0]);
      const y = (size[1] + other[1]) / 2 - Math.abs(spot[1] - center[1]);
      if (x > 0 && y > 0) cost += Math.min(x, y);
    };
    for (const [center, other] of taken) over(center, other);
    view.centers.forEach((center, v) => over(center, view.sizes[v]));
    for (const [x, y] of others) {
      if (Math.abs(x - spot[0]) < size[0] / 2 && Math.abs(y - spot[1]) < size[1] / 2) cost += 1.5;
    }
    if (cost < least) [best, least] = [spot, cost];
  };
  for (const t of [0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74])
    consider(at(points, t), hidden + 0.2 * Math.abs(t - 0.5));
  const middle = at(points, 0.5);
  for (const side of [-1, 1])
    consider([middle[0] + side * away * across[0], middle[1] + side * away * across[1]], 2);
  return best;
}

// Forbidden edges, as dashed lines.
function ruleParts(view) {
  const lines = view.edges.map((edge) =>
    at(
      fullCurve(view.centers[edge[0]], view.centers[edge[2]], view.bends.get(edge.join())),
      0.5,
    ),
  );
  return view.knowledge.forbidden.map(([a, mark, b]) => {
    const bend = chooseBend([a, "->", b], undefined, view.centers, view.sizes, lines);
    const points = clipped(
      fullCurve(view.centers[a], view.centers[b], bend),
      [a, b].map((v) => [view.centers[v], view.sizes[v]]),
    );
    const text = `forbidden: ${view.names[a]} ${ARROWS[mark]} ${view.names[b]}`;
    const line = points ? `M${xy(points[0])} Q${xy(points[1])} ${xy(points[2])}` : "";
    const spot = points ? labelSpot(view, points, [20, 20], []) : view.centers[a];
    const rule = make(
      "svg:g",
      { class: "rule", tabindex: 0, role: "button", "aria-label": text },
      make("svg:path", {
        class: "touch",
        d: line,
      }),
      make("svg:path", {
        class: "line",
        d: line,
      }),
      make(
        "svg:g",
        { transform: `translate(${xy(spot)})` },
        make("svg:circle", { r: 8 }),
        make("svg:text", { dy: "0.36em" }, mark === "--" ? "✕" : ARROWS[mark]),
      ),
      make("svg:title", {}, text),
    );
    rule.addEventListener("click", (event) =>
      view.onRuleClick(a, b, [event.clientX, event.clientY]),
    );
    rule.addEventListener("keydown", (event) => {
      if (!["Enter", " ", "Delete", "Backspace"].includes(event.key)) return;
      event.preventDefault();
      const r = rule.getBoundingClientRect();
      view.onRuleClick(a, b, [(r.left + r.right) / 2, (r.top + r.bottom) / 2]);
    });
    return rule;
  });
}

// Tiers, as bands.
function bandParts(view) {
  const [left, , width] = view.frame();
  return view.bands.flatMap(([top, bottom], k) => [
    make("svg:rect", {
      class: k % 2 ? "odd" : "even",
      x: left,
      y: top,
      width,
      height: bottom - top,
    }),
    make("svg:text", { x: left + 8, y: top + 16 }, `tier ${k + 1}`),
  ]);
}
