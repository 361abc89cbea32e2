// @ts-check
// --- panel "Effect": one variable's effect on another, its paths, and how to estimate it ---

/** @param {Workbench} bench */
function effectPanel(bench) {
  const names = [["", "choose"], ...bench.names.map((name, v) => [v, name])];
  const [of, on] = bench.state.effect || ["", ""];
  const choose = () => {
    const [x, y] = [bench.field("effect-of").value, bench.field("effect-on").value];
    if (x !== "" && y !== "") bench.askEffect(Number(x), Number(y));
  };
  const parts = [
    make(
      "p",
      { class: "hint" },
      "Choose exposure and outcome here, or press ",
      make("b", {}, "? ask"),
      " above the canvas and click on both.",
    ),
    make(
      "div",
      { class: "pairing" },
      row("of", select(names, of, choose, { "data-field": "effect-of" })),
      row("on", select(names, on, choose, { "data-field": "effect-on" })),
    ),
  ];
  const effect = bench.analyses.effect;
  if (!bench.state.effect) return parts;
  if (!effect) return [...parts, note("hint", "Computing …")];
  if (effect.problem) return [...parts, note("problem", effect.problem)];
  /** @type {(name: string, ...value: any[]) => any} */
  const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
  const interval = missing(effect.low) ? "" : ` (${significant(effect.low)} to ${significant(effect.high)})`;
  parts.push(
    make(
      "dl",
      { class: "facts" },
      fact("in the current graph", significant(effect.estimate), interval),
      fact(
        `over ${counted(effect.members, "equivalent graph")}`,
        `${significant(effect.lower)} to ${significant(effect.upper)}`,
      ),
      fact("non-zero in", `${percent(effect.nonzero)} of them`),
    ),
  );
  if (!effect.complete)
    parts.push(note("hint", "Not all equivalent graphs were used: the bounds may be wider."));
  const found = bench.analyses.class;
  if (found && found.shown > 1 && effect.strip.length > 1)
    parts.push(effectStrip(bench, effect), ...memberParts(bench, found));
  return [...parts, ...pathParts(effect), ...estimationParts(bench, effect)];
}

// A line for each value of the effect in the equivalent graphs; a click shows the graph.
/** @param {Workbench} bench @param {Effect} effect */
function effectStrip(bench, effect) {
  const width = 360,
    values = effect.strip;
  const low = Math.min(0, ...values),
    range = Math.max(0, ...values) - low || 1;
  /** @type {(x: any) => any} */
  const place = (x) => 10 + ((width - 20) * (x - low)) / range;
  const bins = new Map(); // by pixel, the graphs
  values.forEach((x, k) => {
    const pixel = Math.round(place(x));
    bins.set(pixel, [...(bins.get(pixel) || []), k]);
  });
  const most = Math.max(...[...bins.values()].map((graphs) => graphs.length));
  /** @type {(x: any, at: number, anchor: string) => any} */
  const text = (x, at, anchor) => make("svg:text", { x: at, y: 62, class: `tick ${anchor}` }, significant(x));
  const shown = bench.member ? bench.member.number : -1;
  return make(
    "svg:svg",
    {
      class: "strip",
      viewBox: `0 0 ${width} 66`,
      role: "img",
      "aria-label": `Effect in ${counted(values.length, "equivalent graph")}: ${significant(Math.min(...values))} to ${significant(Math.max(...values))}`,
    },
    make("svg:line", { x1: 4, x2: width - 4, y1: 48, y2: 48, class: "axis" }),
    make("svg:line", { x1: place(0), x2: place(0), y1: 4, y2: 52, class: "zero" }),
    [...bins].map(([pixel, graphs]) => {
      const height = 8 + (32 * graphs.length) / most;
      const line = make(
        "svg:rect",
        {
          x: pixel - 3,
          width: 6,
          y: 48 - height,
          height,
          rx: 2,
          class: graphs.includes(shown) ? "bar shown" : "bar",
        },
        make(
          "svg:title",
          {},
          `${significant(values[graphs[0]])} in ${counted(graphs.length, "graph")}: click to show one`,
        ),
      );
      on(line, "click", () => bench.showMember(graphs[0]));
      return line;
    }),
    low < 0 ? text(low, 4, "start") : null,
    text(0, place(0), low < 0 && low + range > 0 ? "middle" : low < 0 ? "end" : "start"),
    low + range > 0 ? text(low + range, width - 4, "end") : null,
  );
}

/** @param {any} given */
function pathParts({ causal, biasing, all_paths }) {
  /** @type {(kind: string, n: number, text: string, none: string) => any} */
  const key = (kind, n, text, none) =>
    note("key", make("i", { class: kind }), n ? `${text}: ${counted(n, "edge")}` : none);
  return [
    make("h2", {}, "Paths"),
    key("causal", causal.length, "Causal paths", "No causal path: the effect is zero in this graph."),
    key("biasing", biasing.length, "Biasing paths", "No biasing path."),
    all_paths ? null : note("hint", "There are many biasing paths; some may not be marked."),
  ].filter(Boolean);
}

/** @param {Workbench} bench @param {Effect} effect */
function estimationParts(bench, { adjustment, instruments }) {
  /** @type {(names: number[]) => any} */
  const list = (names) => (names.length ? names.map((v) => bench.names[v]).join(", ") : "nothing");
  const sets = adjustment.map(({ names, optimal, everywhere }) =>
    make(
      "li",
      {},
      list(names),
      make(
        "small",
        {},
        optimal ? " · smallest variance" : "",
        everywhere ? " · valid in all equivalent graphs" : " · not valid in all equivalent graphs",
      ),
    ),
  );
  const pairs = instruments.map(([z, given]) =>
    make("li", {}, bench.names[z], given.length ? ` given ${list(given)}` : ""),
  );
  return [
    make("h2", {}, "Adjust for"),
    sets.length
      ? make("ul", { class: "open" }, sets)
      : make("p", {}, "No set of variables blocks all biasing paths."),
    make("h2", {}, "Instruments"),
    pairs.length ? make("ul", { class: "open" }, pairs) : make("p", {}, "None in this graph."),
  ];
}
