// @ts-check
// --- summary: the numbers above the canvas ---

// Fit of the current graph, and the gain of the last change.
/** @param {Workbench} bench */
function summaryParts(bench) {
  const { fit, change, problem } = bench.state,
    found = bench.analyses.class;
  /** @type {(name: string, value: any, small?: any) => any} */
  const fact = (name, value, small) =>
    make(
      "div",
      {},
      make("dt", {}, name),
      make("dd", {}, value, small ? make("small", {}, " ", small) : null),
    );
  // No line break inside.
  /** @type {(text: string) => any} */
  const together = (text) => make("span", { class: "together" }, text);
  if (!fit) {
    return [fact("No fit", problem)];
  }
  if (!bench.state.graph.length)
    return [make("div", {}, make("dt", {}, "Score without edges"), make("dd", {}, fixed(fit.score, 4)))];
  const gain = !bench.hasGain(change)
    ? null
    : make(
        "small",
        { class: (change.score || 0) > 1e-9 ? "up" : (change.score || 0) < -1e-9 ? "down" : null },
        ` ${signed(change.score, 4)}`,
      );
  const size = !found
    ? "…"
    : found.problem
      ? "–"
      : `${found.complete ? "" : "≥ "}${typeof found.permitted === "number" ? found.permitted.toLocaleString("en") : found.permitted}`;
  return [
    make("div", {}, make("dt", {}, "Score"), make("dd", {}, fixed(fit.score, 4), gain)),
    fact(
      fit.test === "chi-square" ? "Chi-square" : "Scaled chi-square",
      fixed(fit.chi2, 1),
      fit.df ? [together(`on ${fit.df} df,`), " ", together(pText(fit.p_value))] : `on ${fit.df} df`,
    ),
    fact("RMSEA", fixed(fit.rmsea, 3)),
    fact("CFI", fixed(fit.cfi, 3)),
    fact("Equivalent", size, size === "1" ? "graph" : "graphs"),
    fact(
      "Same in all",
      found && !found.problem ? `${found.n_same} / ${found.ends.length}` : "…",
      found && !found.problem && !found.complete
        ? `edges, of the ${counted(found.permitted, "graph")} found in one second`
        : "edges",
    ),
  ];
}

// The equivalence class in a sentence; a part of it is never presented as the whole.
/** @param {any} found */
function classText(found) {
  const same = `${found.n_same} of ${counted(found.ends.length, "edge")} ${found.n_same === 1 ? "is" : "are"} the same in all of them`;
  if (found.size === 1 && found.complete) return "No other graph fits all data equally well.";
  const known = found.permitted === found.size ? "" : ` (the knowledge permits ${found.permitted})`;
  return found.complete
    ? `${counted(found.size, "graph")} fit all data equally well, including this one${known}; ${same}.`
    : `More than ${counted(found.size, "graph")} fit all data equally well${known}. Only these, found in one second, were compared: ${same}; among the others it may be fewer.`;
}

/** @param {Workbench} bench @returns {string[]} */
function warningsOf({ analyses, state, candidates }) {
  if (!state.graph.length) return [];
  const { warnings } = analyses,
    own = warnings?.warnings ? warnings.warnings : state.fit ? state.fit.warnings : [];
  const chosen = candidates
    ? candidates.warnings
    : ["The edges were chosen on the same data: tests and intervals look too certain."];
  return state.chosen_on_data ? [...own, ...chosen] : own;
}

// The number of warnings and the first of them, as a button that opens the whole list.
/** @param {Workbench} bench */
function warningParts(bench) {
  const found = warningsOf(bench);
  if (!found.length) return [];
  const text = `⚠ ${counted(found.length, "warning")}: ${found[0]}`;
  return [button(text, () => bench.setPanel("fit"), { title: "Show all warnings" })];
}

// What to do with an empty graph.
/** @param {Workbench} bench */
function startParts(bench) {
  if (bench.state.graph.length || bench.jobs.current) return [];
  return [
    button("Find a graph", () => bench.findGraph(), { class: "main" }),
    make("span", {}, "from the data, or"),
    button("Draw one", () => {
      bench.setMode("->");
      bench.canvas.boxes[0].focus();
      bench.say("Drag from a cause to its effect; or press Enter at a variable, and at another.");
    }),
    bench.element.classList.contains("in-cell")
      ? null
      : button("Open another table", () => {
          bench.setPanel("files");
          bench.field("table").click();
        }),
    bench.lastSession()
      ? button("Restore the last session", () => bench.restore(bench.lastSession() ?? ""))
      : null,
  ].filter(Boolean);
}
