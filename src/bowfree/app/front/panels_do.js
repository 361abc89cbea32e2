// --- panels to do something: search, compare, keep ---

function searchPanel(bench) {
  const { errands, beside, candidates, shares } = bench,
    busy = Boolean(errands.now);
  const number = (field, value, label, more) =>
    row(label, make("input", { type: "number", "data-field": field, value, ...more }));
  const seed = () => Math.max(0, Math.floor(Number(bench.field("seed").value) || 0));
  const seconds = () =>
    Number(bench.field("seconds").value) > 0 ? Number(bench.field("seconds").value) : null;
  const remembered = bench.searchFields;
  const parts = [
    make(
      "div",
      { class: "pairing" },
      number("seed", remembered.seed, "Seed", { min: 0, step: 1 }),
      number("seconds", remembered.seconds, "At most, in seconds", {
        min: 1,
        step: 1,
        placeholder: "no limit",
      }),
    ),
    make(
      "label",
      { class: "check" },
      make("input", {
        type: "checkbox",
        "data-field": "from-drawn",
        checked: remembered.drawn,
      }),
      " also begin at the drawn graph",
    ),
    make(
      "p",
      { class: "hint" },
      "Locked and forbidden edges, tiers and unconfounded variables are kept to.",
    ),
    make(
      "p",
      { class: "actions" },
      button(
        "Start searching",
        () =>
          bench.ask({
            do: "search",
            seed: seed(),
            seconds: seconds(),
            from_drawn: bench.field("from-drawn").checked,
          }),
        { disabled: busy, class: "main" },
      ),
      button("Bootstrap", () => bench.ask({ do: "bootstrap", seed: seed(), resamples: 100 }), {
        disabled: busy,
        title: "Search on 100 resampled data sets",
      }),
      button("Average", () => bench.ask({ do: "average", seed: seed(), seconds: seconds() }), {
        disabled: busy || !candidates,
        title: "Probabilities of edges, over all graphs that come close",
      }),
      button("Stop", () => bench.ask({ do: "stop" }), { disabled: !busy }),
    ),
  ];
  if (busy) parts.push(errands.progress());
  if (errands.ended)
    parts.push(
      make("p", { class: errands.ended.failed ? "problem" : "verdict" }, errands.ended.said),
    );
  if (candidates) {
    parts.push(
      make("h3", {}, "Found, the best first"),
      make(
        "div",
        { class: "actions" },
        button("‹ Previous", () => beside.step(-1)),
        button("Next ›", () => beside.step(1)),
        button("Take it", () => beside.take(), {
          disabled: beside.which === null,
          class: "main",
        }),
      ),
      make(
        "ol",
        { class: "candidates", start: 1 },
        candidates.graphs.map((found, k) =>
          make(
            "li",
            {},
            button(`${fixed(found.score, 4)}`, () => beside.look(k), {
              "aria-pressed": String(beside.which === k),
            }),
            make(
              "span",
              {},
              k ? `${signed(found.score - candidates.graphs[0].score, 4)} ` : "best ",
            ),
            make(
              "small",
              {},
              `${counted(found.graph.length, "edge")}, ${counted(differences(bench.state.graph, found.graph).length, "difference")}${found.alike > 1 ? `; ${found.alike} graphs alike` : ""}`,
            ),
          ),
        ),
      ),
    );
  }
  if (shares) {
    parts.push(
      make("h3", {}, shares.of === "resamples" ? "Edges over resamples" : "Probabilities of edges"),
      make(
        "div",
        { class: "scroll" },
        table(
          ["Edge", "Share", "Drawn"],
          shares.rows.map(([a, mark, b, share]) => [
            make("span", {}, `${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`),
            percent(share),
            bench.state.graph.some(
              (e) =>
                e[1] === mark &&
                ((e[0] === a && e[2] === b) || (mark === "<->" && e[0] === b && e[2] === a)),
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

function comparePanel(bench) {
  const { beside } = bench;
  const parts = [
    make(
      "p",
      { class: "actions" },
      button("Keep the drawn graph for comparison", () => bench.pin(), { class: "main" }),
      button("Show the kept one", () => beside.look("pinned"), { disabled: !bench.pinned }),
      button("Close", () => beside.close(), { disabled: beside.which === null }),
    ),
  ];
  if (beside.which === null) {
    return [
      ...parts,
      make(
        "p",
        { class: "hint" },
        "Keep the graph, go on drawing, and show the kept one beside it; or choose one of those that a search has found.",
      ),
    ];
  }
  const { graph: otherGraph, comparison } = beside;
  const different = differences(bench.state.graph, otherGraph);
  const said = ([a, b, here, there]) =>
    `${bench.names[a]}, ${bench.names[b]}: ${here ? ARROWS[here] : "no edge"} here, ${there ? ARROWS[there] : "no edge"} there`;
  parts.push(
    make(
      "h3",
      {},
      different.length ? counted(different.length, "difference") : "The two graphs are the same",
    ),
    make(
      "ul",
      { class: "open" },
      different.map((d) => make("li", {}, said(d))),
    ),
  );
  if (comparison) {
    const c = comparison;
    parts.push(
      make(
        "dl",
        { class: "facts" },
        make(
          "div",
          {},
          make("dt", {}, "score of the other"),
          make("dd", {}, `${signed(c.score, 4)} against the drawn one`),
        ),
        make(
          "div",
          {},
          make("dt", {}, "its chi-square"),
          make("dd", {}, `${fixed(c.chi2, 1)} on ${c.other_df} df, ${pText(c.other_p)}`),
        ),
      ),
      make("p", { class: "verdict" }, verdict(comparison)),
    );
  }
  parts.push(
    make(
      "p",
      { class: "actions" },
      button("Take the other graph", () => beside.take()),
    ),
  );
  return parts;
}

// What the test between the drawn graph and the other one says.
function verdict({ relation, test, smaller, statistic, df, p_value }) {
  if (relation === "same model") return "No data can tell them apart.";
  if (!test) return "Not nested; a test would need the rows.";
  const clear = p_value < 0.05;
  if (test === "Vuong") {
    const closer = `the ${statistic > 0 ? "other" : "drawn"} one is closer to the data`;
    const found = clear ? closer : "the data do not prefer one";
    return `Not nested; Vuong's z = ${fixed(statistic, 2)}, ${pText(p_value)}: ${found}.`;
  }
  const inner = smaller === 0 ? ["The drawn", "other"] : ["The other", "drawn"];
  return (
    `${inner[0]} model lies inside the ${inner[1]} one; chi-square difference ` +
    `${fixed(statistic, 2)} on ${df} df, ${pText(p_value)}: ` +
    `the smaller one ${clear ? "is too small" : "will do"}.`
  );
}

// Pairs that differ: [a, b, mark here, mark there].
function differences(here, there) {
  const marks = (edges) => {
    const found = new Map();
    for (const [a, mark, b] of edges)
      found.set(Math.min(a, b) + "," + Math.max(a, b), a < b ? mark : TURNED[mark]);
    return found;
  };
  const [x, y] = [marks(here), marks(there)];
  return [...new Set([...x.keys(), ...y.keys()])]
    .filter((key) => x.get(key) !== y.get(key))
    .map((key) => [...key.split(",").map(Number), x.get(key) || "", y.get(key) || ""]);
}

function keepPanel(bench) {
  const formats = bench.formats.map((name) => [name, name]);
  const show = (answer) => {
    if (answer.error) return;
    bench.kept = answer;
    bench.renderPanel();
  };
  const parts = [
    make("h3", {}, "The session"),
    make(
      "p",
      { class: "actions" },
      button(
        "Save",
        async () => {
          const a = await bench.ask({ do: "save" });
          if (!a.error) download(a.file, a.name, "application/json");
        },
        { class: "main" },
      ),
      button("Load …", () => bench.field("load").click()),
      make("input", {
        type: "file",
        "data-field": "load",
        accept: ".json,application/json",
        hidden: true,
        "aria-label": "A saved session",
        onchange: async (event) => {
          const [file] = event.target.files;
          event.target.value = "";
          if (file) bench.load(file);
        },
      }),
    ),
    make("h3", {}, "The graph"),
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
      button("Read from the box below", () =>
        bench.ask({ do: "read", text: bench.field("kept").value, format: bench.format }),
      ),
    ),
    make("h3", {}, "The work"),
    make(
      "p",
      { class: "actions" },
      button("Python code", async () => show(await bench.ask({ do: "code" })), {
        class: "main",
      }),
      button("Report", () => bench.errands.report(), {
        disabled: Boolean(bench.errands.now),
      }),
    ),
    make(
      "label",
      { class: "box" },
      make("span", {}, bench.kept ? bench.kept.name : "a text to read, or what was exported"),
      make("textarea", {
        "data-field": "kept",
        rows: 14,
        spellcheck: "false",
        oninput: (event) => {
          bench.kept = {
            name: bench.kept ? bench.kept.name : "graph.txt",
            file: event.target.value,
          };
        },
      }),
    ),
  ];
  parts[parts.length - 1].lastChild.value = bench.kept ? bench.kept.file : "";
  if (bench.kept) {
    parts.push(
      make(
        "p",
        { class: "actions" },
        button("Download", () =>
          download(bench.field("kept").value, bench.kept.name, "text/plain"),
        ),
        button("Copy", async () => {
          bench.field("kept").select();
          try {
            await navigator.clipboard.writeText(bench.field("kept").value);
            bench.say("Copied.");
          } catch {
            bench.say("The browser does not permit copying; the text is selected, press Ctrl+C.");
          }
        }),
      ),
    );
  }
  return parts;
}

const PANELS = [
  ["fit", "Fit", fitPanel],
  ["next", "Next", nextPanel],
  ["class", "Class", classPanel],
  ["test", "Test", testPanel],
  ["search", "Search", searchPanel],
  ["compare", "Compare", comparePanel],
  ["keep", "Keep", keepPanel],
];
