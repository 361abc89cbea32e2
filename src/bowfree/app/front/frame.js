// --- frame: the page around the canvas ---

const MODES = [
  ["->", "→ effect", "Draw effects: drag from cause to effect"],
  ["<->", "↔ hidden cause", "Draw hidden common causes: drag from one variable to another"],
  ["--", "⊘ forbid", "Forbid edges: drag from one variable to another"],
  ["move", "✥ move", "Move variables"],
];
const KEYS = [
  ["arrow keys", "to the next variable, or edge"],
  ["Enter", "begin an edge at a variable, end it at another"],
  ["b", "end it as ↔"],
  ["Shift + arrows", "move a variable"],
  ["Space", "menu of a variable or an edge"],
  ["t, c, l, f, Delete", "turn, change the kind of, lock, forbid, delete an edge"],
  ["1, 2, 3, 4", "effect, hidden cause, forbid, move"],
  ["Ctrl+Z, Ctrl+Y", "undo, redo"],
  ["Escape", "leave a menu, or an edge begun"],
];

// Make the elements of the page, and put those that change into the workbench.
function buildFrame(bench) {
  bench.status = make("p", { class: "said", role: "status", "aria-live": "polite" });
  bench.numbers = make("dl", { class: "numbers", "aria-label": "How well the graph fits" });
  bench.stage = make("div", { class: "stage" });
  bench.lost = make("p", { class: "lost", role: "alert", hidden: true });
  bench.undoButton = button("↶ Undo", () => bench.ask({ do: "undo" }));
  bench.redoButton = button("↷ Redo", () => bench.ask({ do: "redo" }));
  const modes = make(
    "div",
    { class: "modes", role: "radiogroup", "aria-label": "What dragging does" },
    MODES.map(([mode, text, title]) =>
      button(text, () => bench.setMode(mode), {
        role: "radio",
        "aria-checked": String(mode === "->"),
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
      ["intervals", "with intervals"],
      ["estimates", "estimates"],
      ["standardized", "standardized"],
      ["shares", "shares"],
      ["none", "no labels"],
    ],
    "auto",
    (event) => bench.show("labels", event.target.value),
    { "aria-label": "Labels of edges" },
  );
  const marks = make(
    "label",
    {},
    make("input", {
      type: "checkbox",
      onchange: (event) => bench.show("marks", event.target.checked),
    }),
    " class marks",
  );
  const tiers = make(
    "span",
    { class: "tiers" },
    button(
      "+ tier",
      () => bench.ask({ do: "tiers", count: bench.state.knowledge.tiers.length + 1 }),
      { title: "One more tier, as a band" },
    ),
    button(
      "− tier",
      () =>
        bench.ask({
          do: "tiers",
          count: Math.max(0, bench.state.knowledge.tiers.length - 1),
        }),
      { title: "One tier less" },
    ),
  );
  const zoom = make(
    "span",
    { class: "zoom" },
    button("−", () => bench.zoom(1 / 1.25), { "aria-label": "Smaller picture" }),
    button("+", () => bench.zoom(1.25), { "aria-label": "Larger picture" }),
    button("Whole", () => bench.zoom(0)),
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
    { class: "tabs", role: "tablist", "aria-label": "About the graph" },
    PANELS.map(([id, text]) =>
      button(text, () => bench.setPanel(id), {
        role: "tab",
        id: `${bench.id}-tab-${id}`,
        "data-panel": id,
        "aria-controls": `${bench.id}-panel`,
        onkeydown: (event) => bench.tabKey(event),
      }),
    ),
  );
  bench.page = make("div", {
    class: "page",
    role: "tabpanel",
    id: `${bench.id}-panel`,
    tabindex: 0,
  });
  bench.element.replaceChildren(
    make(
      "header",
      {},
      make("div", {}, make("h1", {}, bench.data), make("p", {}, bench.aboutData)),
      make(
        "div",
        { class: "actions" },
        bench.undoButton,
        bench.redoButton,
        keys,
        bench.theme.button,
      ),
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
        ),
        bench.stage,
        bench.status,
      ),
      make("aside", { "aria-label": "About the graph" }, bench.tabs, bench.page),
    ),
    bench.menus.element,
  );
  const host = make("figure", { class: "drawn" }, make("figcaption", {}, "The drawn graph"));
  bench.stage.append(host, zoom, bench.callout.element);
  bench.canvas = new Canvas(host, bench.about(), "The drawn graph", bench.hand());
  bench.setPanel("fit");
}
