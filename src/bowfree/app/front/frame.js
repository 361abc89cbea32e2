// @ts-check
// --- frame: the elements around the canvas ---

const MODES = [
  ["->", "→ effect", "Draw effects: drag from cause to effect"],
  ["<->", "↔ hidden cause", "Draw hidden common causes: drag from one variable to another"],
  ["--", "⊘ forbid", "Forbid edges: drag from one variable to another"],
  ["move", "✥ move", "Move variables"],
  ["ask", "? ask", "Ask for an effect: click on exposure and outcome, or drag from one to the other"],
];
const KEYS = [
  ["arrow keys", "go to the next variable or edge"],
  ["Enter", "start an edge at a variable, end it at another"],
  ["b", "end it as ↔"],
  ["Shift + arrows", "move a variable"],
  ["Space", "menu of a variable or an edge"],
  ["t, c, l, f, Delete", "reverse, change the kind of, lock, forbid, delete an edge"],
  ["1, …, 5", "effect, hidden cause, forbid, move, ask"],
  ["Ctrl+Z, Ctrl+Y", "undo, redo"],
  ["Escape", "close a menu, or cancel an edge"],
];

/** @param {Workbench} bench */
function nameList(bench) {
  return make(
    "datalist",
    { id: `${bench.id}-names` },
    bench.names.map((value) => make("option", { value })),
  );
}

// Create the elements of the page; those that change are fields of the workbench.
/** @param {Workbench} bench */
function buildFrame(bench) {
  bench.status = make("p", { class: "status", role: "status", "aria-live": "polite" });
  bench.numbers = make("dl", { class: "numbers", "aria-label": "Fit of the graph" });
  bench.warningLine = make("p", { class: "warning-line" });
  bench.captionLine = make("p", { class: "caption" });
  bench.startLine = make("div", { class: "start", hidden: true });
  bench.stage = make("div", { class: "stage" });
  bench.lost = make("p", { class: "lost", role: "alert", hidden: true });
  bench.undoButton = button("↶ Undo", () => bench.ask({ do: "undo" }));
  bench.redoButton = button("↷ Redo", () => bench.ask({ do: "redo" }));
  const modes = make(
    "div",
    { class: "modes", role: "radiogroup", "aria-label": "Action of dragging" },
    MODES.map(([mode, text, title]) =>
      button(text, () => bench.setMode(mode), {
        role: "radio",
        "aria-checked": String(mode === "->"),
        tabindex: mode === "->" ? 0 : -1,
        onkeydown: (event) => bench.onModeKey(event),
        title,
        "data-mode": mode,
      }),
    ),
  );
  const arrangement = select(
    [
      ["", "arrange"],
      ["rows", "in rows"],
      ["circle", "on a circle"],
      ["bands", "in bands"],
      ["modules", "in modules"],
    ],
    "",
    (event) => {
      bench.ask({ do: "arrange", how: event.target.value });
      event.target.value = "";
    },
    { "aria-label": "Arrange the variables" },
  );
  const labels = select(
    [
      ["auto", "labels: auto"],
      ["standardized", "standardized"],
      ["estimates", "in units"],
      ["intervals", "with intervals"],
      ["shares", "probabilities"],
      ["none", "no labels"],
    ],
    "auto",
    (event) => bench.setDisplay("labels", event.target.value),
    { "aria-label": "Labels of edges" },
  );
  const marks = select(
    [
      ["graph", "marks: graph"],
      ["class", "of the class"],
      ["pag", "PAG"],
    ],
    "graph",
    (event) => bench.setDisplay("marks", event.target.value),
    {
      "aria-label": "Marks at the ends of edges",
      title: "Circles are ends that differ between equivalent graphs; the PAG also allows hidden variables",
    },
  );
  const suggestions = make(
    "label",
    { title: "Draw the best next edges as dashed lines; a click adds one" },
    make("input", {
      type: "checkbox",
      checked: true,
      onchange: (event) => bench.setDisplay("suggestions", event.target.checked),
    }),
    " suggestions",
  );
  const finder = make("input", {
    type: "search",
    class: "finder",
    placeholder: "find a variable",
    "aria-label": "Find a variable",
    list: `${bench.id}-names`,
    onchange: (event) => event.target.value && bench.findVariable(event.target.value),
  });
  bench.filter = make(
    "label",
    { class: "filter", hidden: true },
    "hide edges below ",
    make("input", {
      type: "range",
      min: 0,
      max: 1,
      step: 0.05,
      value: 0,
      "aria-label": "Hide edges with a smaller standardized estimate",
      oninput: (event) => {
        const least = Number(event.target.value);
        bench.setDisplay("least", least);
        const shown = bench.canvas.edges.filter((_, k) => !bench.canvas.isWeak(k)).length;
        bench.say(`${shown} of ${bench.canvas.edges.length} edges are drawn: those of at least ${least}.`);
      },
    }),
  );
  const tiers = make(
    "span",
    { class: "tiers" },
    button("+ tier", () => bench.ask({ do: "tiers", count: bench.state.knowledge.tiers.length + 1 }), {
      title: "Add a tier",
    }),
    button(
      "− tier",
      () => bench.ask({ do: "tiers", count: Math.max(0, bench.state.knowledge.tiers.length - 1) }),
      { title: "Remove the last tier" },
    ),
  );
  const zoom = make(
    "span",
    { class: "zoom" },
    button("−", () => bench.zoom(1 / 1.25), { "aria-label": "Zoom out" }),
    button("+", () => bench.zoom(1.25), { "aria-label": "Zoom in" }),
    button("Fit", () => bench.zoom(0), { title: "Show the whole graph" }),
  );
  const keys = make(
    "details",
    { class: "keys" },
    make("summary", {}, "Keys"),
    make(
      "dl",
      {},
      KEYS.flatMap(([key, what]) => [make("dt", {}, key), make("dd", {}, what)]),
    ),
  );
  bench.tabs = make(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Panels" },
    PANELS.map(([id, text]) =>
      button(text, () => bench.setPanel(id), {
        role: "tab",
        id: `${bench.id}-tab-${id}`,
        "data-panel": id,
        "aria-controls": `${bench.id}-panel`,
        onkeydown: (event) => bench.onTabKey(event),
      }),
    ),
  );
  bench.page = make("div", { class: "page", role: "tabpanel", id: `${bench.id}-panel`, tabindex: 0 });
  bench.element.replaceChildren(
    make(
      "header",
      {},
      make("div", {}, make("h1", {}, bench.data), make("p", {}, bench.aboutData)),
      make("div", { class: "actions" }, bench.undoButton, bench.redoButton, keys, bench.theme.button),
    ),
    bench.lost,
    make(
      "div",
      { class: "body" },
      make(
        "main",
        {},
        bench.numbers,
        make(
          "div",
          { class: "tools", role: "toolbar", "aria-label": "Drawing" },
          modes,
          tiers,
          arrangement,
          labels,
          marks,
          suggestions,
          ...(bench.names.length >= 20 ? [finder, nameList(bench)] : []),
          bench.filter,
        ),
        bench.status,
        bench.warningLine,
        bench.startLine,
        bench.stage,
        bench.captionLine,
      ),
      make("aside", { "aria-label": "Panels" }, bench.tabs, bench.page),
    ),
    bench.menus.element,
  );
  const host = make("figure", { class: "current" }, make("figcaption", {}, "The current graph"));
  bench.stage.append(host, zoom, bench.callout.element);
  bench.canvas = new Canvas(host, bench.variables(), "The current graph", bench.canvasActions());
  if (bench.names.length >= MAP_FROM) {
    bench.canvas.overview = new Overview(bench.canvas);
    host.append(bench.canvas.overview.element);
  }
  bench.setPanel("fit");
  bench.say(
    bench.transport.hint ||
      "Drag from one variable to another to add an edge; click on an edge to change it.",
  );
}
