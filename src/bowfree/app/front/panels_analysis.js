// --- panels with analyses: fit, next changes, class, test ---
// A panel is a function of the workbench that returns elements. It is called when the panel is
// visible and its content has changed.

const select = (names, chosen, onchange, more = {}) =>
  make(
    "select",
    { onchange, ...more },
    names.map(([value, text]) =>
      make("option", { value, selected: String(value) === String(chosen) }, text),
    ),
  );

const row = (label, ...fields) =>
  make("label", { class: "row" }, make("span", {}, label), ...fields);

function fitPanel(bench) {
  const { fit, problem, graph, edges } = bench.state;
  if (!fit) return [make("p", { class: "problem" }, problem)];
  const parts = [...fit.warnings, ...searchWarnings(bench), ...bench.dataWarnings].map((text) =>
    make("p", { class: "problem" }, text),
  );
  parts.push(make("h3", {}, "Estimates"));
  if (!graph.length) {
    parts.push(
      make(
        "p",
        { class: "hint" },
        "There are no edges: drag from one variable to another, or choose one of the next changes.",
      ),
    );
  } else {
    parts.push(
      make(
        "div",
        { class: "scroll" },
        table(
          ["Edge", "Estimate, 95\u00a0%\u00a0interval", "Std.", "p"],
          graph.map(([a, mark, b], k) => {
            const e = edges[k];
            return [
              make(
                "div",
                {},
                button(
                  `${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`,
                  () => bench.showEdge(k),
                  { class: "link" },
                ),
                bench.shares ? make("small", {}, bench.canvas.describeShare(k)) : null,
              ),
              make(
                "div",
                { class: "number" },
                significant(e.estimate),
                missing(e.low)
                  ? null
                  : make("small", {}, ` ${significant(e.low)} to ${significant(e.high)}`),
              ),
              fixed(e.standardized, 2),
              missing(e.p_value) ? "–" : e.p_value < 0.001 ? "< 0.001" : e.p_value.toFixed(3),
            ];
          }),
        ),
      ),
    );
  }
  const pairs = [];
  fit.residuals.forEach((line, i) =>
    line.forEach((r, j) => {
      if (i < j && !missing(r)) pairs.push([i, j, r]);
    }),
  );
  pairs.sort((x, y) => Math.abs(y[2]) - Math.abs(x[2]));
  parts.push(
    make("h3", {}, "Residual correlations"),
    make("p", { class: "hint" }, "Correlation in the data minus correlation in the fit; the largest ones."),
    make(
      "div",
      { class: "bars" },
      pairs.slice(0, 10).flatMap(([i, j, r]) => {
        const bar = make("i", { class: r < 0 ? "negative" : "positive" });
        bar.style.width = `${Math.min(100, 100 * Math.abs(r))}%`;
        return [
          make("span", {}, `${bench.labels[i]}, ${bench.labels[j]}`),
          make("b", {}, bar),
          make("span", { class: "number" }, fixed(r, 3)),
        ];
      }),
    ),
  );
  parts.push(
    make(
      "details",
      {},
      make("summary", {}, "All residual correlations"),
      residualMap(bench, fit.residuals),
    ),
  );
  parts.push(
    row("Penalty", penaltyField(bench), make("small", {}, "1 is the paper's, 0.5 the usual BIC")),
  );
  return parts;
}

// Warnings of the last search, if the current graph was chosen from its results.
function searchWarnings({ candidates, state }) {
  return candidates && state.from_search ? candidates.warnings : [];
}

function penaltyField(bench) {
  return make("input", {
    type: "number",
    min: 0,
    max: 1000,
    step: 0.25,
    value: bench.state.penalty,
    "aria-label": "Penalty per edge, in units of log n",
    onchange: (event) => bench.ask({ do: "penalty", value: Number(event.target.value) }),
  });
}

function residualMap(bench, residuals) {
  return make(
    "div",
    { class: "scroll" },
    make(
      "table",
      { class: residuals.length > 12 ? "map dense" : "map" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          make("td"),
          bench.labels.map((name) => make("th", { scope: "col" }, make("span", {}, name))),
        ),
      ),
      make(
        "tbody",
        {},
        residuals.map((line, i) =>
          make(
            "tr",
            {},
            make("th", { scope: "row" }, bench.labels[i]),
            line.map((r, j) => {
              const cell = make(
                "td",
                {
                  class: r < 0 ? "negative" : "positive",
                  title: `${bench.names[i]}, ${bench.names[j]}: ${fixed(r, 3)}`,
                },
                i === j ? "" : fixed(r, 2),
              );
              cell.style.setProperty(
                "--strength",
                `${i === j ? 0 : Math.min(100, 1000 * Math.abs(r))}%`,
              );
              return cell;
            }),
          ),
        ),
      ),
    ),
  );
}

function nextPanel(bench) {
  const found = bench.analyses.changes;
  if (!bench.state.fit) return [make("p", { class: "problem" }, bench.state.problem)];
  if (!found) return [make("p", { class: "hint" }, "Computing …")];
  if (found.problem) return [make("p", { class: "problem" }, found.problem)];
  return [
    make(
      "p",
      { class: "hint" },
      found.changes.some((change) => change.score > 1e-9)
        ? "All changes of one edge were refitted. The ten best by score:"
        : "All changes of one edge were refitted. None increases the score; the ten best:",
    ),
    make(
      "ol",
      { class: "changes" },
      found.changes.map((change) => {
        const { a, b, before, after } = change;
        const old = `${bench.names[a]} ${ARROWS[before]} ${bench.names[b]}`,
          changed = `${bench.names[a]} ${ARROWS[after]} ${bench.names[b]}`;
        const text = !before
          ? `Add ${changed}`
          : !after
            ? `Delete ${old}`
            : `Change ${old} to ${changed}`;
        return make(
          "li",
          {},
          button(text, () => bench.ask({ do: "change", a, mark: after, b }), {
            class: change.score > 1e-9 ? "better" : null,
          }),
          make("span", { class: "number" }, change.equivalent ? "equivalent" : signed(change.score, 4)),
          make(
            "small",
            {},
            change.equivalent
              ? ""
              : `χ² ${signed(change.chi2, 1)}${missing(change.p_value) ? "" : `, ${pText(change.p_value)}`}`,
          ),
        );
      }),
    ),
  ];
}

function classPanel(bench) {
  const found = bench.analyses.class,
    parts = [];
  if (!bench.state.fit) return [make("p", { class: "problem" }, bench.state.problem)];
  if (!found) parts.push(make("p", { class: "hint" }, "Computing …"));
  else if (found.problem) parts.push(make("p", { class: "problem" }, found.problem));
  else {
    const more = found.complete ? "" : "at least ";
    parts.push(
      make(
        "p",
        {},
        found.size === 1 && found.complete
          ? "No other graph fits all data equally well."
          : `${more}${counted(found.size, "graph")} fit all data equally well, including this one${found.permitted === found.size ? "" : `; the knowledge permits ${found.permitted} of them`}.`,
      ),
      make(
        "p",
        {},
        `${found.n_same} of ${counted(found.ends.length, "edge")} ${found.n_same === 1 ? "is" : "are"} the same in all of ${found.complete ? "them" : "those found in one second"}.`,
      ),
    );
    const open = bench.state.graph
      .map((edge, k) => [edge, found.ends[k]])
      .filter(([, ends]) => ends.includes("circle"));
    if (open.length) {
      const left = { head: "←", tail: "", circle: "o" },
        right = { head: "→", tail: "", circle: "o" };
      const mark = (ends) => (left[ends[0]] + right[ends[1]]).replace("oo", "o–o");
      parts.push(
        make("p", { class: "hint" }, "Edges that differ, with o at ends that differ:"),
        make(
          "ul",
          { class: "open" },
          open.map(([[a, , b], ends]) =>
            make(
              "li",
              {},
              `${bench.names[a]} ${mark(ends)} ${bench.names[b]}`,
            ),
          ),
        ),
      );
    }
  }
  const names = [["", "choose"], ...bench.names.map((name, v) => [v, name])];
  const [of, on] = bench.state.effect || ["", ""];
  const choose = () => {
    const [x, y] = [bench.field("effect-of").value, bench.field("effect-on").value];
    if (x !== "" && y !== "") bench.ask({ do: "effect", of: Number(x), on: Number(y) });
  };
  parts.push(
    make("h3", {}, "Effect of one variable on another"),
    make(
      "div",
      { class: "pairing" },
      row("of", select(names, of, choose, { "data-field": "effect-of" })),
      row("on", select(names, on, choose, { "data-field": "effect-on" })),
    ),
  );
  const effect = bench.analyses.effect;
  if (bench.state.effect && !effect) parts.push(make("p", { class: "hint" }, "Computing …"));
  if (effect && bench.state.effect) {
    parts.push(
      effect.problem
        ? make("p", { class: "problem" }, effect.problem)
        : make(
            "dl",
            { class: "facts" },
            make(
              "div",
              {},
              make("dt", {}, "in the current graph"),
              make(
                "dd",
                {},
                significant(effect.estimate),
                missing(effect.low)
                  ? ""
                  : ` (${significant(effect.low)} to ${significant(effect.high)})`,
              ),
            ),
            make(
              "div",
              {},
              make("dt", {}, `over ${counted(effect.members, "equivalent graph")}`),
              make("dd", {}, `${significant(effect.lower)} to ${significant(effect.upper)}`),
            ),
            make(
              "div",
              {},
              make("dt", {}, "non-zero in"),
              make("dd", {}, `${percent(effect.nonzero)} of them`),
            ),
          ),
    );
    if (!effect.problem && !effect.complete)
      parts.push(
        make("p", { class: "hint" }, "Not all equivalent graphs were used: the bounds may be wider."),
      );
  }
  return parts;
}

function testPanel(bench) {
  const names = bench.names.map((name, v) => [v, name]),
    query = bench.separation;
  const update = () => {
    query.a = Number(bench.field("sep-a").value);
    query.b = Number(bench.field("sep-b").value);
    query.given = [...bench.element.querySelectorAll("[data-given]:checked")]
      .map((box) => Number(box.dataset.given))
      .filter((v) => v !== query.a && v !== query.b);
    bench.askSeparation();
  };
  const parts = [
    make(
      "p",
      { class: "hint" },
      "Are two variables independent given others, according to the graph and to the data?",
    ),
    make(
      "div",
      { class: "pairing" },
      row("between", select(names, query.a, update, { "data-field": "sep-a" })),
      row("and", select(names, query.b, update, { "data-field": "sep-b" })),
    ),
    make(
      "fieldset",
      {},
      make("legend", {}, "given"),
      make(
        "div",
        { class: "checks" },
        names.map(([v, name]) =>
          make(
            "label",
            {},
            make("input", {
              type: "checkbox",
              "data-given": v,
              checked: query.given.includes(v),
              disabled: v === query.a || v === query.b,
              onchange: update,
            }),
            ` ${name}`,
          ),
        ),
      ),
    ),
  ];
  const found = query.found;
  if (found && found.error) parts.push(make("p", { class: "problem" }, found.error));
  else if (found) {
    const holds = !missing(found.p_value) && found.p_value >= 0.05;
    parts.push(
      make(
        "p",
        { class: "verdict" },
        found.separated
          ? "Graph: m-separated, so the partial correlation is zero."
          : "Graph: not m-separated, so they may be correlated.",
      ),
      make(
        "p",
        { class: "verdict" },
        `Data: partial correlation ${fixed(found.r, 3)}, ${pText(found.p_value)}. `,
        found.separated
          ? holds
            ? "The data do not contradict the graph here."
            : "This contradicts the graph."
          : holds
            ? "Independence is not rejected."
            : "They are dependent in the data, too.",
      ),
    );
  }
  return parts;
}
