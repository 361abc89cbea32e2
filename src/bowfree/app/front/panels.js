// --- panels: what is known about the drawn graph, and what can be done with it ---
// Each panel is a function of the workbench that returns the elements of its page; it is called when
// the panel is seen and something in it has changed.

const select = (names, chosen, onchange, more = {}) => make("select", { onchange, ...more },
  names.map(([value, text]) => make("option", { value, selected: String(value) === String(chosen) }, text)));

const row = (label, ...fields) => make("label", { class: "row" }, make("span", {}, label), ...fields);

function fitPanel(bench) {
  const { fit, problem, graph, edges } = bench.state;
  if (!fit) return [make("p", { class: "problem" }, problem)];
  const parts = fit.doubts.map((doubt) => make("p", { class: "problem" }, doubt));
  parts.push(make("h3", {}, "Estimates"));
  if (!graph.length) {
    parts.push(make("p", { class: "hint" }, "There are no edges yet: drag from one variable to another, or take one of the next changes."));
  } else {
    parts.push(make("div", { class: "scroll" }, table(["Edge", "Estimate, 95 % interval", "Std.", "p"],
      graph.map(([a, mark, b], k) => {
        const e = edges[k];
        return [button(`${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`, () => bench.showEdge(k), { class: "link" }),
          make("div", { class: "number" }, significant(e.estimate), missing(e.low) ? null : make("small", {}, ` ${significant(e.low)} to ${significant(e.high)}`)),
          fixed(e.std, 2), missing(e.p_value) ? "–" : e.p_value < 0.001 ? "< 0.001" : e.p_value.toFixed(3)];
      }))));
  }
  const pairs = [];
  fit.residuals.forEach((line, i) => line.forEach((r, j) => {
    if (i < j && !missing(r)) pairs.push([i, j, r]);
  }));
  pairs.sort((x, y) => Math.abs(y[2]) - Math.abs(x[2]));
  parts.push(make("h3", {}, "Residual correlations"),
    make("p", { class: "hint" }, "In the data minus in the fit; the largest."),
    make("div", { class: "bars" }, pairs.slice(0, 10).flatMap(([i, j, r]) => {
      const bar = make("i", { class: r < 0 ? "negative" : "positive" });
      bar.style.width = `${Math.min(100, 100 * Math.abs(r))}%`;
      return [make("span", {}, `${bench.labels[i]}, ${bench.labels[j]}`), make("b", {}, bar), make("span", { class: "number" }, fixed(r, 3))];
    })));
  parts.push(make("details", {}, make("summary", {}, "All of them as a map"), residualMap(bench, fit.residuals)));
  parts.push(row("Penalty", penaltyField(bench), make("small", {}, "1 is the paper's, 0.5 the usual BIC")));
  return parts;
}

function penaltyField(bench) {
  return make("input", { type: "number", min: 0, max: 1000, step: 0.25, value: bench.state.penalty,
    "aria-label": "Penalty per edge, in units of log n",
    onchange: (event) => bench.ask({ do: "penalty", value: Number(event.target.value) }) });
}

function residualMap(bench, residuals) {
  return make("div", { class: "scroll" }, make("table", { class: residuals.length > 12 ? "map dense" : "map" },
    make("thead", {}, make("tr", {}, make("td"), bench.labels.map((name) => make("th", { scope: "col" }, make("span", {}, name))))),
    make("tbody", {}, residuals.map((line, i) => make("tr", {}, make("th", { scope: "row" }, bench.labels[i]),
      line.map((r, j) => {
        const cell = make("td", { class: r < 0 ? "negative" : "positive", title: `${bench.names[i]}, ${bench.names[j]}: ${fixed(r, 3)}` },
          i === j ? "" : fixed(r, 2));
        cell.style.setProperty("--strength", `${i === j ? 0 : Math.min(100, 1000 * Math.abs(r))}%`);
        return cell;
      }))))));
}

function nextPanel(bench) {
  const found = bench.later.changes;
  if (!bench.state.fit) return [make("p", { class: "problem" }, bench.state.problem)];
  if (!found) return [make("p", { class: "hint" }, "Working …")];
  if (found.problem) return [make("p", { class: "problem" }, found.problem)];
  return [make("p", { class: "hint" }, "Every change of one edge was tried, and the graph fitted again. The ten best, by the score."),
    make("ol", { class: "changes" }, found.changes.map((change) => {
      const { a, b, before, after } = change;
      const now = `${bench.names[a]} ${ARROWS[before]} ${bench.names[b]}`, then = `${bench.names[a]} ${ARROWS[after]} ${bench.names[b]}`;
      const text = !before ? `Add ${then}` : !after ? `Delete ${now}` : `${now} becomes ${then}`;
      return make("li", {}, button(text, () => bench.ask({ do: "change", a, mark: after, b }), { class: change.score > 1e-9 ? "better" : null }),
        make("span", { class: "number" }, change.same ? "same model" : signed(change.score, 4)),
        make("small", {}, change.same ? "" : `χ² ${signed(change.chi2, 1)}${missing(change.p_value) ? "" : `, ${pText(change.p_value)}`}`));
    }))];
}

function classPanel(bench) {
  const found = bench.later.class, parts = [];
  if (!bench.state.fit) return [make("p", { class: "problem" }, bench.state.problem)];
  if (!found) parts.push(make("p", { class: "hint" }, "Working …"));
  else if (found.problem) parts.push(make("p", { class: "problem" }, found.problem));
  else {
    const more = found.complete ? "" : "at least ";
    parts.push(make("p", {}, found.size === 1 && found.complete ? "No other graph fits all data as well as this one."
      : `${more}${counted(found.size, "graph")} fit all data as well as this one, itself included${found.known === found.size ? "" : `; ${found.known} of them within what is known`}.`),
    make("p", {}, `${found.settled} of ${counted(found.ends.length, "edge")} ${found.settled === 1 ? "is" : "are"} the same in all of them: settled.`));
    const open = bench.state.graph.map((edge, k) => [edge, found.ends[k]]).filter(([, ends]) => ends.includes("circle"));
    if (open.length) {
      const left = { head: "<", tail: "–", circle: "o" }, right = { head: ">", tail: "–", circle: "o" };
      parts.push(make("p", { class: "hint" }, "Not settled, with a circle at an end that varies:"),
        make("ul", { class: "open" }, open.map(([[a, , b], ends]) => make("li", {}, `${bench.names[a]} ${left[ends[0]]}–${right[ends[1]]} ${bench.names[b]}`))));
    }
  }
  const names = [["", "choose"], ...bench.names.map((name, v) => [v, name])];
  const [of, on] = bench.state.effect || ["", ""];
  const choose = () => {
    const [x, y] = [bench.field("effect-of").value, bench.field("effect-on").value];
    if (x !== "" && y !== "") bench.ask({ do: "effect", of: Number(x), on: Number(y) });
  };
  parts.push(make("h3", {}, "Effect of one variable on another"),
    make("div", { class: "pairing" }, row("of", select(names, of, choose, { "data-field": "effect-of" })),
      row("on", select(names, on, choose, { "data-field": "effect-on" }))));
  const effect = bench.later.effect;
  if (bench.state.effect && !effect) parts.push(make("p", { class: "hint" }, "Working …"));
  if (effect && bench.state.effect) {
    parts.push(effect.problem ? make("p", { class: "problem" }, effect.problem) : make("dl", { class: "facts" },
      make("div", {}, make("dt", {}, "in the drawn graph"), make("dd", {}, significant(effect.estimate), missing(effect.low) ? "" : ` (${significant(effect.low)} to ${significant(effect.high)})`)),
      make("div", {}, make("dt", {}, `over ${counted(effect.members, "graph")} that fit as well`), make("dd", {}, `${significant(effect.lower)} to ${significant(effect.upper)}`)),
      make("div", {}, make("dt", {}, "an effect in"), make("dd", {}, `${percent(effect.nonzero)} of them`))));
    if (!effect.problem && !effect.complete) parts.push(make("p", { class: "hint" }, "Not all of them were looked at: the bounds may be wider."));
  }
  return parts;
}

function testPanel(bench) {
  const names = bench.names.map((name, v) => [v, name]), asked = bench.separation;
  const again = () => {
    asked.a = Number(bench.field("sep-a").value);
    asked.b = Number(bench.field("sep-b").value);
    asked.given = [...bench.element.querySelectorAll("[data-given]:checked")].map((box) => Number(box.dataset.given))
      .filter((v) => v !== asked.a && v !== asked.b);
    bench.askSeparation();
  };
  const parts = [make("p", { class: "hint" }, "Does the graph say that two variables are unrelated, given others? And what do the data say?"),
    make("div", { class: "pairing" }, row("between", select(names, asked.a, again, { "data-field": "sep-a" })),
      row("and", select(names, asked.b, again, { "data-field": "sep-b" }))),
    make("fieldset", {}, make("legend", {}, "given"), make("div", { class: "checks" }, names.map(([v, name]) =>
      make("label", {}, make("input", { type: "checkbox", "data-given": v, checked: asked.given.includes(v),
        disabled: v === asked.a || v === asked.b, onchange: again }), ` ${name}`))))];
  const found = asked.found;
  if (found && found.error) parts.push(make("p", { class: "problem" }, found.error));
  else if (found) {
    const holds = !missing(found.p_value) && found.p_value >= 0.05;
    parts.push(make("p", { class: "verdict" }, found.separated ? "The graph says: m-separated, the partial correlation is zero." : "The graph says: not m-separated, they may be correlated."),
      make("p", { class: "verdict" }, `The data say: partial correlation ${fixed(found.r, 3)}, ${pText(found.p_value)}. `,
        found.separated ? (holds ? "The data do not speak against the graph here." : "That speaks against the graph.")
          : (holds ? "The data would permit them to be unrelated." : "They are related in the data, too.")));
  }
  return parts;
}

function searchPanel(bench) {
  const { errand, candidates, shares } = bench, busy = Boolean(errand);
  const number = (field, value, label, more) => row(label, make("input", { type: "number", "data-field": field, value, ...more }));
  const seed = () => Math.max(0, Math.floor(Number(bench.field("seed").value) || 0));
  const seconds = () => Number(bench.field("seconds").value) > 0 ? Number(bench.field("seconds").value) : null;
  const remembered = bench.searchFields;
  const parts = [make("div", { class: "pairing" },
    number("seed", remembered.seed, "Seed", { min: 0, step: 1 }), number("seconds", remembered.seconds, "At most, in seconds", { min: 1, step: 1, placeholder: "no limit" })),
  make("label", { class: "check" }, make("input", { type: "checkbox", "data-field": "from-drawn", checked: remembered.drawn }), " also begin at the drawn graph"),
  make("p", { class: "hint" }, "Locked and forbidden edges, tiers and unconfounded variables are kept to."),
  make("p", { class: "actions" },
    button("Start searching", () => bench.ask({ do: "search", seed: seed(), seconds: seconds(), from_drawn: bench.field("from-drawn").checked }), { disabled: busy, class: "main" }),
    button("Bootstrap", () => bench.ask({ do: "bootstrap", seed: seed(), resamples: 100 }), { disabled: busy, title: "Search on 100 resampled data sets" }),
    button("Average", () => bench.ask({ do: "average", seed: seed(), seconds: seconds() }), { disabled: busy || !candidates, title: "Probabilities of edges, over all graphs that come close" }),
    button("Stop", () => bench.ask({ do: "stop" }), { disabled: !busy }))];
  if (busy) parts.push(bench.progressPart());
  if (bench.ended) parts.push(make("p", { class: bench.ended.failed ? "problem" : "verdict" }, bench.ended.said));
  if (candidates) {
    parts.push(make("h3", {}, "Found, the best first"),
      make("div", { class: "actions" }, button("‹ Previous", () => bench.stepCandidate(-1)), button("Next ›", () => bench.stepCandidate(1)),
        button("Take it", () => bench.takeOther(), { disabled: bench.other === null, class: "main" })),
      make("ol", { class: "candidates", start: 1 }, candidates.graphs.map((found, k) => make("li", {},
        button(`${fixed(found.score, 4)}`, () => bench.lookAt(k), { "aria-pressed": String(bench.other === k) }),
        make("span", {}, k ? `${signed(found.score - candidates.graphs[0].score, 4)} ` : "best "),
        make("small", {}, `${counted(found.graph.length, "edge")}, ${counted(differences(bench.state.graph, found.graph).length, "difference")}${found.alike > 1 ? `; ${found.alike} graphs alike` : ""}`)))));
  }
  if (shares) {
    parts.push(make("h3", {}, shares.of === "resamples" ? "Edges over resamples" : "Probabilities of edges"),
      make("div", { class: "scroll" }, table(["Edge", "Share", "Drawn"], shares.rows.map(([a, mark, b, share]) =>
        [make("span", {}, `${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`), percent(share),
          bench.state.graph.some((e) => e[1] === mark && (e[0] === a && e[2] === b || mark === "<->" && e[0] === b && e[2] === a)) ? make("span", {}, "yes") : make("span", {}, "")]))));
  }
  return parts;
}

function comparePanel(bench) {
  const parts = [make("p", { class: "actions" },
    button("Keep the drawn graph for comparison", () => bench.pin(), { class: "main" }),
    button("Show the kept one", () => bench.lookAt("pinned"), { disabled: !bench.pinned }),
    button("Close", () => bench.closeOther(), { disabled: bench.other === null }))];
  if (bench.other === null) {
    return [...parts, make("p", { class: "hint" }, "Keep the graph, go on drawing, and show the kept one beside it; or choose one of those that a search has found.")];
  }
  const { otherGraph, comparison } = bench;
  const different = differences(bench.state.graph, otherGraph);
  const said = ([a, b, here, there]) => `${bench.names[a]}, ${bench.names[b]}: ${here ? ARROWS[here] : "no edge"} here, ${there ? ARROWS[there] : "no edge"} there`;
  parts.push(make("h3", {}, different.length ? counted(different.length, "difference") : "The two graphs are the same"),
    make("ul", { class: "open" }, different.map((d) => make("li", {}, said(d)))));
  if (comparison) {
    const c = comparison;
    const test = c.relation === "same model" ? "No data can tell them apart."
      : c.test === "Vuong" ? `Not nested; Vuong's z = ${fixed(c.statistic, 2)}, ${pText(c.p_value)}${c.p_value < 0.05 ? (c.statistic > 0 ? ": the other is closer to the data." : ": the drawn one is closer to the data.") : ": the data do not prefer one."}`
        : c.test ? `${c.smaller === 0 ? "The drawn" : "The other"} model lies inside the ${c.smaller === 0 ? "other" : "drawn"} one; chi-square difference ${fixed(c.statistic, 2)} on ${c.df} df, ${pText(c.p_value)}${c.p_value < 0.05 ? ": the smaller one is too small." : ": the smaller one will do."}`
          : "Not nested; a test would need the rows.";
    parts.push(make("dl", { class: "facts" },
      make("div", {}, make("dt", {}, "score of the other"), make("dd", {}, `${signed(c.score, 4)} against the drawn one`)),
      make("div", {}, make("dt", {}, "its chi-square"), make("dd", {}, `${fixed(c.chi2, 1)} on ${c.other_df} df, ${pText(c.other_p)}`))),
    make("p", { class: "verdict" }, test));
  }
  parts.push(make("p", { class: "actions" }, button("Take the other graph", () => bench.takeOther())));
  return parts;
}

// Pairs that differ: [a, b, mark here, mark there].
function differences(here, there) {
  const marks = (edges) => {
    const found = new Map();
    for (const [a, mark, b] of edges) found.set(Math.min(a, b) + "," + Math.max(a, b), a < b ? mark : TURNED[mark]);
    return found;
  };
  const [x, y] = [marks(here), marks(there)];
  return [...new Set([...x.keys(), ...y.keys()])].filter((key) => x.get(key) !== y.get(key))
    .map((key) => [...key.split(",").map(Number), x.get(key) || "", y.get(key) || ""]);
}

function keepPanel(bench) {
  const formats = bench.formats.map((name) => [name, name]);
  const show = (answer) => {
    if (answer.error) return;
    bench.kept = answer;
    bench.renderPanel();
  };
  const parts = [make("h3", {}, "The session"),
    make("p", { class: "actions" },
      button("Save", async () => { const a = await bench.ask({ do: "save" }); if (!a.error) download(a.file, a.name, "application/json"); }, { class: "main" }),
      button("Load …", () => bench.field("load").click()),
      make("input", { type: "file", "data-field": "load", accept: ".json,application/json", hidden: true, "aria-label": "A saved session",
        onchange: async (event) => { const [file] = event.target.files; event.target.value = ""; if (file) bench.load(file); } })),
    make("h3", {}, "The graph"),
    make("p", { class: "actions" }, row("format", select(formats, bench.format, (event) => { bench.format = event.target.value; }, { "data-field": "format" })),
      button("Export", async () => show(await bench.ask({ do: "export", format: bench.format })), { class: "main" }),
      button("Read from the box below", () => bench.ask({ do: "read", text: bench.field("kept").value, format: bench.format }))),
    make("h3", {}, "The work"),
    make("p", { class: "actions" }, button("Python code", async () => show(await bench.ask({ do: "code" })), { class: "main" }),
      button("Report", () => bench.report(), { disabled: Boolean(bench.errand) })),
    make("label", { class: "box" }, make("span", {}, bench.kept ? bench.kept.name : "a text to read, or what was exported"),
      make("textarea", { "data-field": "kept", rows: 14, spellcheck: "false",
        oninput: (event) => { bench.kept = { name: bench.kept ? bench.kept.name : "graph.txt", file: event.target.value }; } }))];
  parts[parts.length - 1].lastChild.value = bench.kept ? bench.kept.file : "";
  if (bench.kept) {
    parts.push(make("p", { class: "actions" }, button("Download", () => download(bench.field("kept").value, bench.kept.name, "text/plain")),
      button("Copy", async () => {
        bench.field("kept").select();
        try { await navigator.clipboard.writeText(bench.field("kept").value); bench.say("Copied."); }
        catch { bench.say("The browser does not permit copying; the text is selected, press Ctrl+C."); }
      })));
  }
  return parts;
}

const PANELS = [["fit", "Fit", fitPanel], ["next", "Next", nextPanel], ["class", "Class", classPanel], ["test", "Test", testPanel],
  ["search", "Search", searchPanel], ["compare", "Compare", comparePanel], ["keep", "Keep", keepPanel]];
