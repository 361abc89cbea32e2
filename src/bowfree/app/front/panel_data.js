// @ts-check
// --- panel "Data": the distribution of a variable, or the points behind an edge ---

/** @param {Workbench} bench */
function dataPanel(bench) {
  const { a, b, found } = bench.dataQuery;
  const names = bench.names.map((name, v) => [v, name]);
  const choose = () => {
    const second = bench.field("data-b").value;
    bench.askData(Number(bench.field("data-a").value), second === "" ? null : Number(second));
  };
  const parts = [
    make(
      "div",
      { class: "pairing" },
      row("variable", select(names, a, choose, { "data-field": "data-a" })),
      row("and", select([["", "alone"], ...names], b ?? "", choose, { "data-field": "data-b" })),
    ),
  ];
  if (!found) return parts;
  if (found.error) return [...parts, note("problem", found.error)];
  if (found.counts) return [...parts, ...histogramParts(bench.names[a], found)];
  return [...parts, ...scatterParts(bench.names[a], bench.names[b ?? 0], found)];
}

const [CHART_WIDTH, CHART_HEIGHT, CHART_LEFT, CHART_FOOT] = [380, 260, 48, 34];

// Axes with the ends of both ranges, and content that is placed by functions of x and y.
/** @param {string} label @param {number[]} xs @param {number[]} ys @param {string[]} names @param {(x: (value: number) => number, y: (value: number) => number) => any} draw */
function chart(label, xs, ys, names, draw) {
  const [[x0, x1], [y0, y1], [nameX, nameY]] = [xs, ys, names];
  /** @type {(value: any) => any} */
  const x = (value) => CHART_LEFT + ((CHART_WIDTH - CHART_LEFT - 8) * (value - x0)) / (x1 - x0 || 1);
  const bottom = CHART_HEIGHT - CHART_FOOT;
  /** @type {(value: any) => any} */
  const y = (value) => bottom - ((bottom - 10) * (value - y0)) / (y1 - y0 || 1);
  /** @type {(content: string, px: number, py: number, anchor: string, more?: Attributes) => any} */
  const text = (content, px, py, anchor, more = {}) =>
    make("svg:text", { x: px, y: py, class: `tick ${anchor}`, ...more }, content);
  return make(
    "svg:svg",
    { class: "chart", viewBox: `0 0 ${CHART_WIDTH} ${CHART_HEIGHT}`, role: "img", "aria-label": label },
    draw(x, y),
    make("svg:path", { class: "axis", d: `M${CHART_LEFT},8 V${bottom} H${CHART_WIDTH - 8}` }),
    text(significant(x0), CHART_LEFT, bottom + 14, "start"),
    text(significant(x1), CHART_WIDTH - 8, bottom + 14, "end"),
    text(nameX, (CHART_LEFT + CHART_WIDTH) / 2, CHART_HEIGHT - 5, "middle"),
    text(significant(y0), CHART_LEFT - 5, bottom, "end"),
    text(significant(y1), CHART_LEFT - 5, 16, "end"),
    text(nameY, 12, bottom / 2, "middle", { transform: `rotate(-90 12 ${bottom / 2})` }),
  );
}

/** @param {string} name @param {{ counts: number[], edges: number[], mean: number, sd: number, n: number }} found */
function histogramParts(name, { counts, edges, mean, sd, n }) {
  const most = Math.max(...counts),
    ends = [edges[0], edges[edges.length - 1]];
  const label = `Histogram of ${name}: ${n} rows, mean ${significant(mean)}`;
  return [
    chart(label, ends, [0, most], [name, "rows"], (x, y) =>
      counts.map((count, k) =>
        make("svg:rect", {
          class: "bar",
          x: x(edges[k]) + 0.5,
          width: Math.max(1, x(edges[k + 1]) - x(edges[k]) - 1),
          y: y(count),
          height: y(0) - y(count),
        }),
      ),
    ),
    make("p", {}, `${counted(n, "row")}; mean ${significant(mean)}, standard deviation ${significant(sd)}.`),
  ];
}

/** @param {string} nameA @param {string} nameB @param {{ kind: string, slope: number, r: number, n: number, points: Point[] }} found */
function scatterParts(nameA, nameB, { kind, slope, r, n, points }) {
  /** @type {(k: number) => Pair} */
  const range = (k) => [Math.min(...points.map((p) => p[k])), Math.max(...points.map((p) => p[k]))];
  const [xs, ys] = [range(0), range(1)];
  const text =
    kind === "partial"
      ? `${nameB} without the effects of its other causes, against ${nameA}; the line has the estimated effect, ${significant(slope)}.`
      : `Residuals of ${nameB} against residuals of ${nameA}: what their causes leave unexplained.`;
  return [
    chart(text, xs, ys, [nameA, nameB], (x, y) =>
      [
        points.map(([u, v]) =>
          make("svg:circle", { class: "point", cx: x(u).toFixed(1), cy: y(v).toFixed(1), r: 2 }),
        ),
        kind === "partial"
          ? make("svg:line", {
              class: "slope",
              x1: x(xs[0]),
              y1: y(slope * xs[0]),
              x2: x(xs[1]),
              y2: y(slope * xs[1]),
            })
          : null,
      ].flat(),
    ),
    make("p", {}, text),
    note(
      "hint",
      `Correlation ${fixed(r, 3)} in ${counted(n, "row")}${points.length < n ? `; ${points.length} of them are drawn` : ""}.`,
    ),
  ];
}
