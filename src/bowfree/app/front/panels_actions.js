// @ts-check
// --- panels with actions: search, compare, files ---

/** @param {Workbench} bench */
function searchPanel(bench) {
  const { jobs, comparison, candidates, shares } = bench,
    busy = Boolean(jobs.current);
  /** @type {(field: string, value: any, label: string, more: Attributes) => any} */
  const number = (field, value, label, more) =>
    row(label, make("input", { type: "number", "data-field": field, value, ...more }));
  const seed = () => Math.max(0, Math.floor(Number(bench.field("seed").value) || 0));
  const seconds = () =>
    Number(bench.field("seconds").value) > 0 ? Number(bench.field("seconds").value) : null;
  const fields = bench.searchFields;
  const parts = [
    make(
      "div",
      { class: "pairing" },
      number("seed", fields.seed, "Seed", { min: 0, step: 1 }),
      number("restarts", fields.restarts, "Restarts", { min: 1, step: 1, placeholder: "default" }),
      number("seconds", fields.seconds, "Time limit in seconds", {
        min: 1,
        step: 1,
        placeholder: "no limit",
      }),
    ),
    make(
      "label",
      { class: "check" },
      make("input", { type: "checkbox", "data-field": "from-current", checked: fields.fromCurrent }),
      " also start from the current graph",
    ),
    note(
      "hint",
      "Only graphs with all locked and no forbidden edges, in agreement with tiers and unconfounded variables.",
    ),
    make(
      "p",
      { class: "actions" },
      button(
        "Start search",
        () =>
          bench.ask({
            do: "search",
            seed: seed(),
            seconds: seconds(),
            restarts: Math.floor(Number(bench.field("restarts").value)) || null,
            from_current: bench.field("from-current").checked,
            average: true,
          }),
        { disabled: busy, class: "main" },
      ),
      button("Bootstrap", () => bench.ask({ do: "bootstrap", seed: seed(), resamples: 100 }), {
        disabled: busy,
        title: "Search on 100 resampled data sets",
      }),
      button("Average", () => bench.ask({ do: "average", seed: seed(), seconds: seconds() }), {
        disabled: busy || !candidates,
        title: "Probabilities of edges, averaged over all probable graphs",
      }),
      button("Stop", () => bench.ask({ do: "stop" }), { disabled: !busy }),
    ),
  ];
  if (busy) parts.push(jobs.progress());
  if (jobs.ended && (jobs.ended.job !== "search" || jobs.ended.failed || !candidates))
    parts.push(make("p", { class: jobs.ended.failed ? "problem" : "verdict" }, jobs.ended.text));
  if (candidates) {
    parts.push(
      make("h2", {}, "Graphs found, best first"),
      make("p", { class: "verdict found" }, candidates.text),
      make(
        "div",
        { class: "actions" },
        button("‹ Previous", () => comparison.step(-1)),
        button("Next ›", () => comparison.step(1)),
        button("Use it", () => comparison.use(), { disabled: comparison.which === null, class: "main" }),
      ),
      make(
        "ol",
        { class: "candidates", start: 1 },
        candidates.graphs.map((/** @type {any} */ found, /** @type {number} */ k) =>
          make(
            "li",
            {},
            button(`${fixed(found.score, 4)}`, () => comparison.show(k), {
              "aria-pressed": String(comparison.which === k),
            }),
            make("span", {}, k ? `${signed(found.score - candidates.graphs[0].score, 4)} ` : "best "),
            make(
              "small",
              {},
              `${counted(found.graph.length, "edge")}, ${counted(differences(bench.state.graph, found.graph).length, "difference")}${found.count > 1 ? `; ${found.count} graphs with this score` : ""}`,
            ),
          ),
        ),
      ),
    );
  }
  if (shares) {
    parts.push(
      make(
        "h2",
        {},
        shares.of === "resamples" ? "Frequencies of edges in resamples" : "Probabilities of edges",
      ),
      make(
        "div",
        { class: "scroll", tabindex: 0 },
        table(
          ["Edge", shares.of === "resamples" ? "Share" : "Probability", "In the graph"],
          shares.rows.map(([a, mark, b, share]) => [
            make("span", {}, `${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`),
            percent(share),
            bench.state.graph.some(
              (e) =>
                e[1] === mark && ((e[0] === a && e[2] === b) || (mark === "<->" && e[0] === b && e[2] === a)),
            )
              ? make("span", {}, "yes")
              : make("span", {}, ""),
          ]),
        ),
      ),
    );
  }
  return parts;
}

/** @param {Workbench} bench */
function comparePanel(bench) {
  const { comparison } = bench;
  const parts = [
    make(
      "p",
      { class: "actions" },
      button("Keep the current graph for comparison", () => bench.pin(), { class: "main" }),
      button("Show the kept graph", () => comparison.show("pinned"), { disabled: !bench.pinned }),
      button("Close", () => comparison.close(), { disabled: comparison.which === null }),
    ),
  ];
  if (comparison.which === null) {
    return [
      ...parts,
      note(
        "hint",
        "Keep the current graph, change it, and show the kept one beside it; or choose a graph that a search found.",
      ),
    ];
  }
  const { graph: otherGraph, result } = comparison;
  const different = differences(bench.state.graph, otherGraph);
  /** @type {(pair: any[]) => string} */
  const describe = ([a, b, here, there]) =>
    `${bench.names[a]}, ${bench.names[b]}: ${here ? ARROWS[here] : "no edge"} in the current graph, ${there ? ARROWS[there] : "no edge"} in the other`;
  parts.push(
    make(
      "h3",
      {},
      different.length ? counted(different.length, "difference") : "The two graphs are the same",
    ),
    make(
      "ul",
      { class: "open" },
      different.map((d) => make("li", {}, describe(d))),
    ),
  );
  if (result) {
    const c = result;
    parts.push(
      make(
        "dl",
        { class: "facts" },
        make(
          "div",
          {},
          make("dt", {}, "score of the other graph"),
          make("dd", {}, `${signed(c.score, 4)} compared with the current one`),
        ),
        make(
          "div",
          {},
          make("dt", {}, "its chi-square"),
          make("dd", {}, `${fixed(c.chi2, 1)} on ${c.other_df} df, ${pText(c.other_p)}`),
        ),
      ),
      note("verdict", verdict(result)),
    );
  }
  parts.push(
    note(
      "actions",
      button("Use the other graph", () => comparison.use()),
    ),
  );
  return parts;
}

// The result of the test between the current and the other graph.
/** @param {any} given */
function verdict({ relation, test, smaller, statistic, df, p_value }) {
  if (relation === "same model") return "The graphs are equivalent: no data can distinguish them.";
  if (!test) return "Not nested; the test needs the rows of the data.";
  const clear = p_value < 0.05;
  if (test === "Vuong") {
    const closer = `the ${statistic > 0 ? "other" : "current"} graph fits better`;
    const found = clear ? closer : "the data do not favor either";
    return `Not nested; Vuong's z = ${fixed(statistic, 2)}, ${pText(p_value)}: ${found}.`;
  }
  const inner = smaller === 0 ? ["The current", "other"] : ["The other", "current"];
  return (
    `${inner[0]} model is nested in the ${inner[1]} one; chi-square difference ` +
    `${fixed(statistic, 2)} on ${df} df, ${pText(p_value)}: ` +
    `the smaller model is ${clear ? "" : "not "}rejected.`
  );
}

// Pairs that differ: [a, b, mark here, mark there].
/** @param {Edge[]} here @param {Edge[]} there @returns {any[]} */
function differences(here, there) {
  /** @type {(edges: any) => any} */
  const marks = (edges) => {
    const found = new Map();
    for (const [a, mark, b] of edges)
      found.set(`${Math.min(a, b)},${Math.max(a, b)}`, a < b ? mark : REVERSED[mark]);
    return found;
  };
  const [x, y] = [marks(here), marks(there)];
  return [...new Set([...x.keys(), ...y.keys()])]
    .filter((key) => x.get(key) !== y.get(key))
    .map((key) => [...key.split(",").map(Number), x.get(key) || "", y.get(key) || ""]);
}

/** @param {Workbench} bench */
function filesPanel(bench) {
  const formats = bench.formats.map((name) => [name, name]);
  /** @type {(answer: any) => any} */
  const show = (answer) => {
    if (answer.error) return;
    bench.text = answer;
    bench.renderPanel();
  };
  const parts = [
    make("h2", {}, "Session"),
    make(
      "p",
      { class: "actions" },
      button("Save", () => bench.save(), { class: "main" }),
      button("Share", () => bench.share(), {
        title: "One file with the picture, the estimates and the session",
      }),
      button("Load …", () => bench.field("load").click()),
      make("input", {
        type: "file",
        "data-field": "load",
        accept: ".json,.html,application/json,text/html",
        hidden: true,
        "aria-label": "A session file",
        onchange: async (event) => {
          const [file] = event.target.files;
          event.target.value = "";
          if (file) bench.load(file);
        },
      }),
    ),
    ...(bench.element.classList.contains("in-cell")
      ? []
      : [
          make("h2", {}, "Data"),
          make(
            "p",
            { class: "actions" },
            button("Open a table …", () => bench.field("table").click()),
            make("input", {
              type: "file",
              "data-field": "table",
              accept: ".csv,.tsv,.txt,text/csv",
              hidden: true,
              "aria-label": "A table with named columns",
              onchange: (event) => event.target.files[0] && bench.openTable(event.target.files[0]),
            }),
          ),
        ]),
    make("h2", {}, "Picture"),
    make(
      "p",
      { class: "actions" },
      button("SVG", () => bench.savePicture("svg")),
      button("PNG", () => bench.savePicture("png")),
      bench.element.classList.contains("in-cell")
        ? null
        : button("PDF (print)", () => window.print(), { title: "Choose PDF in the print dialog" }),
    ),
    make("h2", {}, "Graph"),
    make(
      "p",
      { class: "actions" },
      row(
        "format",
        select(
          formats,
          bench.format,
          (event) => {
            bench.format = event.target.value;
          },
          { "data-field": "format" },
        ),
      ),
      button("Export", async () => show(await bench.ask({ do: "export", format: bench.format })), {
        class: "main",
      }),
      button("Read the text below", () =>
        bench.ask({ do: "read", text: bench.field("text").value, format: bench.format }),
      ),
    ),
    make("h2", {}, "Analysis"),
    make(
      "p",
      { class: "actions" },
      button("Python code", async () => show(await bench.ask({ do: "code" })), { class: "main" }),
      button("Report", () => bench.jobs.report(), { disabled: Boolean(bench.jobs.current) }),
    ),
    make(
      "label",
      { class: "box" },
      make("span", {}, bench.text ? bench.text.name : "graph to read, or exported text"),
      make("textarea", {
        "data-field": "text",
        rows: 14,
        spellcheck: "false",
        oninput: (event) => {
          bench.text = { name: bench.text ? bench.text.name : "graph.txt", file: event.target.value };
        },
      }),
    ),
  ];
  parts[parts.length - 1].lastChild.value = bench.text ? bench.text.file : "";
  if (bench.text) {
    parts.push(
      make(
        "p",
        { class: "actions" },
        button("Download", () =>
          download(bench.field("text").value, bench.text ? bench.text.name : "graph.txt", "text/plain"),
        ),
        button("Copy", async () => {
          bench.field("text").select();
          try {
            await navigator.clipboard.writeText(bench.field("text").value);
            bench.say("Copied.");
          } catch {
            bench.say("The browser does not allow copying. The text is selected: press Ctrl+C.");
          }
        }),
      ),
    );
  }
  return parts;
}

/** @type {[string, string, (bench: Workbench) => any[]][]} */
const PANELS = [
  ["fit", "Fit", fitPanel],
  ["next", "Next", nextPanel],
  ["class", "Class", classPanel],
  ["effect", "Effect", effectPanel],
  ["test", "Test", testPanel],
  ["data", "Data", dataPanel],
  ["search", "Search", searchPanel],
  ["compare", "Compare", comparePanel],
  ["files", "Files", filesPanel],
];
