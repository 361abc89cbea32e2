// --- summary: the numbers above the canvas ---

// Fit of the current graph, and the gain of the last change.
function summaryParts(bench) {
  const { fit, change, problem } = bench.state,
    found = bench.analyses.class;
  const fact = (name, value, small) =>
    make(
      "div",
      {},
      make("dt", {}, name),
      make("dd", {}, value, small ? make("small", {}, " ", small) : null),
    );
  // No line break inside.
  const together = (text) => make("span", { class: "together" }, text);
  if (!fit) {
    return [fact("No fit", problem)];
  }
  const gain = !bench.hasGain(change)
    ? null
    : make(
        "small",
        { class: change.score > 1e-9 ? "up" : change.score < -1e-9 ? "down" : null },
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
      fit.df
        ? [together(`on ${fit.df} df,`), " ", together(pText(fit.p_value))]
        : `on ${fit.df} df`,
    ),
    fact("RMSEA", fixed(fit.rmsea, 3)),
    fact("CFI", fixed(fit.cfi, 3)),
    fact("Equivalent", size, size === "1" ? "graph" : "graphs"),
    fact(
      "Same in all",
      found && !found.problem ? `${found.n_same} / ${found.ends.length}` : "…",
      found && !found.problem && !found.complete ? "edges, of the part found" : "edges",
    ),
  ];
}
