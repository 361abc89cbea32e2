// --- numbers: how well the drawn graph fits ---

// The facts above the canvas, and what the last change was worth.
function numberParts(bench) {
  const { fit, change, problem } = bench.state,
    found = bench.later.class;
  const fact = (name, value, small) =>
    make(
      "div",
      {},
      make("dt", {}, name),
      make("dd", {}, value, small ? make("small", {}, " ", small) : null),
    );
  // Its words stay together: a line ends before it or after it.
  const together = (text) => make("span", { class: "together" }, text);
  if (!fit) {
    return [fact("No fit", problem)];
  }
  const moved = !bench.moved(change)
    ? null
    : make(
        "small",
        { class: change.score > 1e-9 ? "up" : change.score < -1e-9 ? "down" : null },
        ` ${signed(change.score, 4)}`,
      );
  const alike = !found
    ? "…"
    : found.problem
      ? "–"
      : `${found.complete ? "" : "≥ "}${typeof found.known === "number" ? found.known.toLocaleString("en") : found.known}`;
  return [
    make("div", {}, make("dt", {}, "Score"), make("dd", {}, fixed(fit.score, 4), moved)),
    fact(
      "Chi-square",
      fixed(fit.chi2, 1),
      fit.df
        ? [together(`on ${fit.df} df,`), " ", together(pText(fit.p_value))]
        : `on ${fit.df} df`,
    ),
    fact("RMSEA", fixed(fit.rmsea, 3)),
    fact("CFI", fixed(fit.cfi, 3)),
    fact("Fit as well", alike, alike === "1" ? "graph" : "graphs"),
    fact(
      "Settled",
      found && !found.problem ? `${found.settled} / ${found.ends.length}` : "…",
      "edges",
    ),
  ];
}
