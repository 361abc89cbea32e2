// @ts-check
// --- panels with analyses: fit, next changes, class, test ---
// A panel is a function of the workbench that returns elements. It is called when the panel is
// visible and its content has changed.

/** @type {(names: any[][], chosen: any, onchange: (event: any) => any, more?: Attributes) => any} */
const select = (names, chosen, onchange, more = {}) =>
  make(
    "select",
    { onchange, ...more },
    names.map(([value, text]) => make("option", { value, selected: String(value) === String(chosen) }, text)),
  );

/** @type {(label: string, ...fields: any[]) => any} */
const row = (label, ...fields) => make("label", { class: "row" }, make("span", {}, label), ...fields);

/** @param {Workbench} bench */
function fitPanel(bench) {
  const { fit, problem, graph, edges } = bench.state;
  if (!fit || !edges) return [note("problem", problem)];
  const parts = warningsOf(bench).map((text) => note("problem", text));
  parts.push(make("h2", {}, "Estimates"));
  if (!graph.length) {
    parts.push(
      note(
        "hint",
        "There are no edges: drag from one variable to another, or choose one of the next changes.",
      ),
    );
  } else {
    parts.push(
      make(
        "div",
        { class: "scroll", tabindex: 0 },
        table(
          ["Edge", "Estimate, 95\u00a0%\u00a0interval", "Std.", "p"],
          graph.map(([a, mark, b], k) => {
            const e = edges[k];
            return [
              make(
                "div",
                {},
                button(`${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`, () => bench.showEdge(k), {
                  class: "link",
                }),
                bench.shares ? make("small", {}, bench.canvas.describeShare(k)) : null,
              ),
              make(
                "div",
                { class: "number" },
                significant(e.estimate),
                missing(e.low) ? null : make("small", {}, ` ${significant(e.low)} to ${significant(e.high)}`),
              ),
              fixed(e.standardized, 2),
              missing(e.p_value) ? "–" : e.p_value < 0.001 ? "< 0.001" : e.p_value.toFixed(3),
            ];
          }),
        ),
      ),
    );
  }
  /** @type {any[][]} */
  const pairs = [];
  fit.residuals.forEach((line, i) =>
    line.forEach((r, j) => {
      if (i < j && !missing(r)) pairs.push([i, j, r]);
    }),
  );
  pairs.sort((x, y) => Math.abs(y[2]) - Math.abs(x[2]));
  parts.push(
    make("h2", {}, "Residual correlations"),
    note("hint", "Correlation in the data minus correlation in the fit; the largest ones."),
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
    make("details", {}, make("summary", {}, "All residual correlations"), residualMap(bench, fit.residuals)),
  );
  parts.push(row("Penalty", penaltyField(bench), make("small", {}, "1 is the paper's, 0.5 the usual BIC")));
  return parts;
}

/** @param {Workbench} bench */
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

/** @param {Workbench} bench @param {any[][]} residuals */
function residualMap(bench, residuals) {
  return make(
    "div",
    { class: "scroll", tabindex: 0 },
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
              cell.style.setProperty("--strength", `${i === j ? 0 : Math.min(100, 1000 * Math.abs(r))}%`);
              return cell;
            }),
          ),
        ),
      ),
    ),
  );
}

/** @param {Workbench} bench */
function nextPanel(bench) {
  const found = bench.analyses.changes;
  if (!bench.state.fit) return [note("problem", bench.state.problem)];
  if (!found) return [note("hint", "Computing …")];
  if (found.problem) return [note("problem", found.problem)];
  // Changes of one pair with the same score are equivalent: they share a line.
  /** @type {Map<string, any[]>} */
  const lines = new Map();
  for (const change of found.changes) {
    const key = [change.a, change.b, change.before, change.score.toFixed(9)].join();
    lines.set(key, [...(lines.get(key) || []), change]);
  }
  const better = found.changes.filter((/** @type {any} */ change) => change.score > 1e-9).length;
  return [
    make(
      "p",
      { class: better ? "hint" : "verdict" },
      better
        ? "All changes of one edge were refitted. The best by score:"
        : "No change of one edge improves the score. The changes that lose least:",
    ),
    make(
      "ol",
      { class: "changes" },
      [...lines.values()].map((tied) => {
        const [{ a, b, before, score, chi2, p_value, equivalent }] = tied;
        const old = `${bench.names[a]} ${ARROWS[before]} ${bench.names[b]}`;
        /** @type {({ after }: any, k: number) => any} */
        const text = ({ after }, k) => {
          const changed = `${bench.names[a]} ${ARROWS[after]} ${bench.names[b]}`;
          if (k) return `or ${ARROWS[after]}`;
          return !before ? `Add ${changed}` : !after ? `Delete ${old}` : `Change ${old} to ${changed}`;
        };
        return make(
          "li",
          {},
          make(
            "span",
            { class: "tied" },
            tied.map((change, k) =>
              button(
                text(change, k),
                () => bench.ask({ do: "change", a, mark: change.after, b, suggested: true }),
                { class: score > 1e-9 ? "better" : null, title: k ? text(change, 0) : null },
              ),
            ),
          ),
          make("span", { class: "number" }, equivalent ? "equivalent" : signed(score, 4)),
          make(
            "small",
            {},
            equivalent
              ? ""
              : `χ² ${signed(chi2, 1)}${missing(p_value) ? "" : `, ${pText(p_value)}`}${tied.length > 1 ? "; the data cannot tell these directions apart" : ""}`,
          ),
        );
      }),
    ),
  ];
}

/** @param {Workbench} bench */
function classPanel(bench) {
  const found = bench.analyses.class,
    parts = [];
  if (!bench.state.fit) return [note("problem", bench.state.problem)];
  if (!found) parts.push(note("hint", "Computing …"));
  else if (found.problem) parts.push(note("problem", found.problem));
  else {
    parts.push(make("p", {}, classText(found)));
    if (found.shown > 1) parts.push(...memberParts(bench, found));
    const open = bench.state.graph
      .map((edge, k) => [edge, found.ends[k]])
      .filter(([, ends]) => ends.includes("circle"));
    if (open.length) {
      /** @type {Record<string, string>[]} */
      const [left, right] = ["←", "→"].map((head) => ({ head, tail: "", circle: "o" }));
      /** @type {(ends: string[]) => any} */
      const mark = (ends) => (left[ends[0]] + right[ends[1]]).replace("oo", "o–o");
      parts.push(
        note("hint", "Edges that differ, with o at ends that differ:"),
        make(
          "ul",
          { class: "open" },
          open.map(([[a, , b], ends]) => make("li", {}, `${bench.names[a]} ${mark(ends)} ${bench.names[b]}`)),
        ),
      );
    }
  }
  return parts;
}

// A slider through the equivalent graphs; edges that are the same stay as they are.
/** @param {Workbench} bench @param {any} found */
function memberParts(bench, found) {
  const { member } = bench,
    differ = member ? differences(member.graph, bench.state.graph).length : 0;
  const of = found.shown === found.permitted ? found.shown : `the first ${found.shown}`;
  const parts = [
    row(
      "Show the equivalent graphs",
      make("input", {
        type: "range",
        min: 0,
        max: found.shown - 1,
        value: member ? member.number : 0,
        "data-field": "member",
        "aria-label": "Equivalent graph",
        oninput: (event) => bench.showMember(Number(event.target.value)),
      }),
    ),
  ];
  if (member) {
    const strip = bench.panel === "effect" ? bench.analyses.effect.strip : [];
    const effect = missing(strip[member.number])
      ? ""
      : `; the effect is ${significant(strip[member.number])}`;
    parts.push(
      make(
        "p",
        { class: "verdict" },
        `Graph ${member.number + 1} of ${of}: ${differ ? `${counted(differ, "edge")} differ` : "the current graph"}${effect}.`,
      ),
      make(
        "p",
        { class: "actions" },
        button("Use this graph", () => bench.ask({ do: "use_member", number: member.number }), {
          class: "main",
        }),
        button("Back to the current graph", () => {
          bench.hideMember();
          bench.renderPanel(["class", "effect"]);
        }),
      ),
    );
  }
  return parts;
}

// All equations that the graph implies, with their tests.
/** @param {Workbench} bench */
function implicationParts(bench) {
  const found = bench.implications;
  if (!found)
    return [
      make(
        "p",
        { class: "actions" },
        button("List all testable implications", async () => {
          const answer = await bench.query({ do: "implications" });
          if (answer?.error) bench.callout.show(answer);
          if (answer) bench.implications = answer.implications || null;
          bench.renderPanel(["test"]);
        }),
      ),
    ];
  const rejected = found.filter(({ p_value }) => p_value < 0.05).length;
  return [
    make("h2", {}, "Testable implications"),
    make(
      "p",
      { class: "hint" },
      found.length
        ? `${counted(found.length, "equation")}; ${rejected} with p < 0.05, where ${fixed(0.05 * found.length, 1)} are expected if all hold.`
        : "The graph implies no equation: every covariance matrix fits.",
    ),
    make(
      "div",
      { class: "scroll", tabindex: 0 },
      table(
        ["Equation", "In the data", "p"],
        found.map(({ equation, value, p_value }) => [
          make("span", {}, equation),
          fixed(value, 3),
          missing(p_value) ? "–" : p_value < 0.001 ? "< 0.001" : p_value.toFixed(3),
        ]),
      ),
    ),
  ];
}

/** @param {Workbench} bench */
function testPanel(bench) {
  const names = /** @type {[number, string][]} */ (bench.names.map((name, v) => [v, name])),
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
    note("hint", "Are two variables independent given others, according to the graph and to the data?"),
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
  if (found?.error) parts.push(note("problem", found.error));
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
  return [...parts, ...implicationParts(bench)];
}
