// --- workbench: one page, its state, and the messages to and from the session ---

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

class Workbench {
  constructor(root, transport) {
    this.transport = transport;
    this.later = {};
    this.version = 0;
    this.panel = "fit";
    this.other = null;
    this.otherGraph = null;
    this.comparison = null;
    this.separation = { a: 0, b: 1, given: [], found: null };
    this.searchFields = { seed: 1, seconds: "", drawn: true };
    this.format = "text";
    this.kept = null;
    this.ended = null;
    this.element = make("div", { class: "bf-workbench" });
    root.append(this.element);
    this.element.append(make("p", { class: "hint" }, "Waiting for the data …"));
    transport.listen(
      (message) => this.hear(message),
      (alive) => this.setAlive(alive),
    );
  }

  async begin() {
    const answer = await this.transport.ask({ do: "hello" });
    if (!answer.hello) return;
    const first = !this.names;
    const h = answer.hello;
    Object.assign(this, {
      names: h.names,
      labels: h.labels,
      sizes: h.sizes,
      formats: h.formats,
      data: h.data,
      aboutData: h.about,
      errand: h.errand,
      candidates: h.candidates,
      shares: h.shares,
      pinned: h.pinned,
      moves: h.places.moves,
    });
    this.version = 0;
    if (first) this.build();
    this.canvas.setGraph(h.state.graph, { knowledge: h.state.knowledge });
    this.canvas.setPlaces(h.places.centres, h.places.bands);
    this.setState(h.state, true);
    for (const message of h.later) this.later[message.kind] = message;
    this.render();
  }

  // --- the frame of the page ---

  build() {
    this.status = make("p", { class: "said", role: "status", "aria-live": "polite" });
    this.alert = make("div", { class: "callout", role: "alert", hidden: true });
    this.numbers = make("dl", { class: "numbers", "aria-label": "How well the graph fits" });
    this.stage = make("div", { class: "stage" });
    this.lost = make("p", { class: "lost", role: "alert", hidden: true });
    this.menu = make("div", { class: "menu", role: "menu", hidden: true });
    this.undoButton = button("↶ Undo", () => this.ask({ do: "undo" }));
    this.redoButton = button("↷ Redo", () => this.ask({ do: "redo" }));
    const modes = make(
      "div",
      { class: "modes", role: "radiogroup", "aria-label": "What dragging does" },
      MODES.map(([mode, text, title]) =>
        button(text, () => this.setMode(mode), {
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
      ],
      "",
      (event) => {
        this.ask({ do: "arrange", how: event.target.value });
        event.target.value = "";
      },
      { "aria-label": "Arrange the variables" },
    );
    const labels = select(
      [
        ["auto", "labels: auto"],
        ["intervals", "with intervals"],
        ["estimates", "estimates"],
        ["standardised", "standardised"],
        ["shares", "shares"],
        ["none", "no labels"],
      ],
      "auto",
      (event) => this.show("labels", event.target.value),
      { "aria-label": "Labels of edges" },
    );
    const marks = make(
      "label",
      {},
      make("input", {
        type: "checkbox",
        onchange: (event) => this.show("marks", event.target.checked),
      }),
      " class marks",
    );
    const tiers = make(
      "span",
      { class: "tiers" },
      button(
        "+ tier",
        () => this.ask({ do: "tiers", count: this.state.knowledge.tiers.length + 1 }),
        { title: "One more tier, as a band" },
      ),
      button(
        "− tier",
        () =>
          this.ask({
            do: "tiers",
            count: Math.max(0, this.state.knowledge.tiers.length - 1),
          }),
        { title: "One tier less" },
      ),
    );
    const zoom = make(
      "span",
      { class: "zoom" },
      button("−", () => this.zoom(1 / 1.25), { "aria-label": "Smaller picture" }),
      button("+", () => this.zoom(1.25), { "aria-label": "Larger picture" }),
      button("Whole", () => this.zoom(0)),
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
    const theme = button("", () => this.turnTheme(), { class: "theme" });
    this.tabs = make(
      "div",
      { class: "tabs", role: "tablist", "aria-label": "About the graph" },
      PANELS.map(([id, text]) =>
        button(text, () => this.setPanel(id), {
          role: "tab",
          id: `bf-tab-${id}`,
          "data-panel": id,
          "aria-controls": "bf-panel",
          onkeydown: (event) => this.tabKey(event),
        }),
      ),
    );
    this.page = make("div", { class: "page", role: "tabpanel", id: "bf-panel", tabindex: 0 });
    this.element.replaceChildren(
      make(
        "header",
        {},
        make("div", {}, make("h1", {}, this.data), make("p", {}, this.aboutData)),
        make("div", { class: "actions" }, this.undoButton, this.redoButton, keys, theme),
      ),
      this.lost,
      make(
        "div",
        { class: "body" },
        make(
          "main",
          {},
          this.numbers,
          make(
            "div",
            { class: "tools", role: "toolbar", "aria-label": "Drawing" },
            modes,
            tiers,
            arrangement,
            labels,
            marks,
          ),
          this.stage,
          this.status,
        ),
        make("aside", { "aria-label": "About the graph" }, this.tabs, this.page),
      ),
      this.menu,
    );
    const host = make("figure", { class: "drawn" }, make("figcaption", {}, "The drawn graph"));
    this.stage.append(host, zoom, this.alert);
    this.canvas = new Canvas(host, this.about(), "The drawn graph", this.hand());
    this.element.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.menu.hidden && !this.menu.contains(event.target)) this.closeMenu();
        if (!this.alert.contains(event.target)) this.excuse();
      },
      true,
    );
    this.nameTheme();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.nameTheme());
    this.setPanel("fit");
  }

  about() {
    return { names: this.names, labels: this.labels, sizes: this.sizes };
  }

  field(name) {
    return this.element.querySelector(`[data-field="${name}"]`);
  }

  hand() {
    return {
      say: (text) => this.say(text),
      draw: (a, mark, b) =>
        this.ask(mark === "--" ? { do: "forbid", a, mark, b } : { do: "draw", a, mark, b }, [a, b]),
      place: (v, x, y) => this.placeBox(v, x, y),
      edgeMenu: (k, place) => this.edgeMenu(k, place),
      nodeMenu: (v, place) => this.nodeMenu(v, place),
      pairMenu: (a, b, place) =>
        this.openMenu(place, `Forbidden between ${this.names[a]} and ${this.names[b]}`, [
          ["Allow all edges again", () => this.ask({ do: "allow", a, b }, [a, b])],
        ]),
      edgeKey: (k, event) => this.edgeKey(k, event),
    };
  }

  // --- messages ---

  // Ask the session; a refusal is shown on the canvas, between the variables it is about.
  async ask(message, pair = null) {
    this.excuse();
    let answer;
    try {
      answer = await this.transport.ask(message);
    } catch {
      this.setAlive(false);
      return { error: "lost" };
    }
    if (answer.error) this.refuse(answer, pair);
    if (answer.state) this.setState(answer.state);
    if (answer.places) this.setPlaces(answer.places);
    if ("errand" in answer) {
      this.errand = answer.errand;
      this.ended = null;
      this.renderPanel();
    }
    if (answer.pinned) {
      this.pinned = answer.pinned;
      this.renderPanel();
    }
    return answer;
  }

  hear(message) {
    if (!this.names) return;
    const { kind } = message;
    if (kind === "state") this.setState(message.state);
    else if (kind === "places") this.setPlaces(message.places);
    else if (kind === "errand") {
      this.setErrand(message.errand);
    } else if (kind === "ended") this.end(message);
    else if (kind === "candidates") {
      this.candidates = message.candidates;
      this.renderPanel(["search"]);
    } else if (kind === "shares") {
      this.shares = message.shares;
      this.render();
    } else if (kind === "pinned") {
      this.pinned = message.graph;
      this.renderPanel(["compare"]);
    } else if (message.version === this.version) {
      this.later[kind] = message;
      if (kind === "class") {
        this.drawGraph();
        this.renderNumbers();
      }
      this.renderPanel({ changes: ["next"], class: ["class"], effect: ["class"] }[kind]);
    }
  }

  setState(state, quiet = false) {
    if (state.version < this.version) return;
    const fresh = state.version > this.version;
    this.state = state;
    this.version = state.version;
    if (fresh) this.later = {};
    if (fresh && !quiet && state.change.what) this.say(this.summary(state));
    this.render();
    if (fresh && this.other !== null) this.lookAt(this.other);
    if (fresh && this.panel === "test") this.askSeparation();
  }

  summary(state) {
    const { fit, change } = state;
    if (!fit) return `${change.what}. ${state.problem}`;
    const moved = this.moved(change) ? `, ${signed(change.score, 4)}` : "";
    const test = fit.df ? `, ${pText(fit.p_value)}` : "";
    const square = `chi-square ${fixed(fit.chi2, 1)} on ${fit.df} df${test}`;
    return `${change.what}. Score ${fixed(fit.score, 4)}${moved}; ${square}.`;
  }

  // Whether the last change is worth a number: those with four zeros are the same model, or nearly.
  moved(change) {
    return Boolean(change.what) && !missing(change.score) && Math.abs(change.score) >= 5e-5;
  }

  setPlaces(places) {
    if (places.moves <= this.moves || this.canvas.held) return;
    this.moves = places.moves;
    this.canvas.setPlaces(places.centres, places.bands);
    if (this.second) this.second.setPlaces(places.centres, places.bands);
  }

  setAlive(alive) {
    const back = this.alive === false && alive;
    this.alive = alive;
    if (this.lost) {
      this.lost.hidden = alive;
      if (!alive) this.lost.textContent = this.transport.lost;
    }
    if (alive && (back || !this.names)) this.begin();
  }

  say(text) {
    this.status.textContent = text;
  }

  // --- what is drawn ---

  render() {
    this.drawGraph();
    this.renderNumbers();
    this.undoButton.disabled = !this.state.undo;
    this.redoButton.disabled = !this.state.redo;
    this.undoButton.title = this.state.undo ? `Undo: ${this.state.undo}` : "Nothing to undo";
    this.redoButton.title = this.state.redo ? `Redo: ${this.state.redo}` : "Nothing to redo";
    this.renderPanel();
  }

  drawGraph() {
    const { graph, knowledge, edges } = this.state,
      found = this.later.class;
    this.canvas.setGraph(graph, {
      knowledge,
      estimates: edges,
      shares: this.shares,
      ends: found && !found.problem ? found.ends : null,
      differs: this.marked(graph, this.otherGraph),
    });
    this.canvas.svg.setAttribute(
      "aria-label",
      `The drawn graph: ${counted(this.names.length, "variable")}, ${counted(graph.length, "edge")}`,
    );
    if (this.second)
      this.second.setGraph(this.otherGraph, {
        knowledge,
        estimates: null,
        ends: null,
        shares: null,
        differs: this.marked(this.otherGraph, graph),
      });
  }

  // For each edge, whether another graph has none or another one between the same variables.
  marked(graph, other) {
    if (!other) return null;
    return graph.map(([a, mark, b]) => {
      const there = other.find((e) => (e[0] === a && e[2] === b) || (e[0] === b && e[2] === a));
      if (!there) return "only";
      return there[1] === mark && (mark === "<->" || there[0] === a) ? null : "differs";
    });
  }

  renderNumbers() {
    const { fit, change, problem } = this.state,
      found = this.later.class;
    const fact = (name, value, small) =>
      make(
        "div",
        {},
        make("dt", {}, name),
        make("dd", {}, value, small ? make("small", {}, ` ${small}`) : null),
      );
    if (!fit) {
      this.numbers.replaceChildren(fact("No fit", problem));
      return;
    }
    const moved = !this.moved(change)
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
    this.numbers.replaceChildren(
      make("div", {}, make("dt", {}, "Score"), make("dd", {}, fixed(fit.score, 4), moved)),
      fact(
        "Chi-square",
        fixed(fit.chi2, 1),
        `on ${fit.df} df${fit.df ? `, ${pText(fit.p_value)}` : ""}`,
      ),
      fact("RMSEA", fixed(fit.rmsea, 3)),
      fact("CFI", fixed(fit.cfi, 3)),
      fact("Fit as well", alike, alike === "1" ? "graph" : "graphs"),
      fact(
        "Settled",
        found && !found.problem ? `${found.settled} / ${found.ends.length}` : "…",
        "edges",
      ),
    );
  }

  show(what, value) {
    for (const canvas of [this.canvas, this.second]) {
      if (canvas) {
        canvas.shown[what] = value;
        canvas.drawAll();
      }
    }
  }

  zoom(factor) {
    for (const canvas of [this.canvas, this.second]) {
      if (canvas) {
        if (factor) canvas.setScale(canvas.scale * factor);
        else canvas.fit(0);
      }
    }
  }

  setMode(mode) {
    this.canvas.mode = mode;
    this.canvas.svg.setAttribute("data-mode", mode);
    for (const choice of this.element.querySelectorAll("[data-mode][role=radio]")) {
      choice.setAttribute("aria-checked", String(choice.dataset.mode === mode));
    }
  }

  placeBox(v, x, y) {
    const tier = this.canvas.bands.findIndex(([top, bottom]) => y >= top && y < bottom);
    const now = this.state.knowledge.tiers.findIndex((names) => names.includes(v));
    if (this.canvas.bands.length && tier !== now) {
      this.ask({ do: "tier", node: v, tier: tier < 0 ? null : tier }).then((answer) => {
        if (answer.error) {
          this.moves = -1;
          this.ask({ do: "arrange", how: "bands" });
          this.refuse(answer, [v, v]);
        }
      });
    } else this.ask({ do: "place", node: v, x, y });
  }

  // --- refusals ---

  refuse(answer, pair) {
    if (!this.alert) return;
    this.canvas.blame(answer.path || []);
    const text = make(
      "p",
      {},
      answer.error[0].toUpperCase() +
        answer.error.slice(1) +
        (/[.!?]$/.test(answer.error) ? "" : "."),
    );
    const parts = [text];
    if (answer.instead) {
      const [a, mark, b] = answer.instead;
      parts.push(
        button(`Change it to ${this.names[a]} ${ARROWS[mark]} ${this.names[b]}`, () =>
          this.ask({ do: "change", a, mark, b }, [a, b]),
        ),
      );
    }
    parts.push(button("Close", () => this.excuse(), { class: "close" }));
    this.alert.replaceChildren(...parts);
    this.alert.hidden = false;
    const frame = this.stage.getBoundingClientRect();
    let place = [frame.left + frame.width / 2, frame.top + 40];
    if (pair) {
      const [p, q] = pair.map((v) => this.canvas.toScreen(this.canvas.centres[v]));
      place = [(p[0] + q[0]) / 2, (p[1] + q[1]) / 2 + 14];
    }
    const left = Math.min(
      Math.max(place[0] - frame.left - this.alert.offsetWidth / 2, 6),
      frame.width - this.alert.offsetWidth - 6,
    );
    const top = Math.min(
      Math.max(place[1] - frame.top, 6),
      frame.height - this.alert.offsetHeight - 6,
    );
    this.alert.style.left = `${Math.max(6, left)}px`;
    this.alert.style.top = `${Math.max(6, top)}px`;
  }

  excuse() {
    if (!this.alert || this.alert.hidden) return;
    this.alert.hidden = true;
    this.canvas.blame([]);
  }

  // --- menus ---

  edgeActions(k) {
    const [a, mark, b] = this.state.graph[k],
      pair = [a, b],
      locked = this.canvas.isLocked(this.state.graph[k]);
    const change = (to) => () => this.ask({ do: "change", a, mark: to, b }, pair);
    return [
      mark === "->" ? ["t", "Turn around", change("<-")] : null,
      mark === "->"
        ? ["c", "Make it ↔, a hidden cause", change("<->")]
        : ["c", `Make it ${this.names[a]} → ${this.names[b]}`, change("->")],
      mark === "<->" ? ["t", `Make it ${this.names[a]} ← ${this.names[b]}`, change("<-")] : null,
      ["Delete", "Delete", change("")],
      [
        "l",
        locked ? "Unlock" : "Lock: every graph has it",
        () => this.ask({ do: "lock", a, b }, pair),
      ],
      ["f", "Forbid: no graph has it", () => this.ask({ do: "forbid", a, mark, b }, pair)],
      mark === "->" ? ["e", "Follow this effect", () => this.follow(a, b)] : null,
    ].filter(Boolean);
  }

  edgeMenu(k, place) {
    const [a, mark, b] = this.state.graph[k];
    this.openMenu(
      place,
      `${this.names[a]} ${ARROWS[mark]} ${this.names[b]}`,
      this.edgeActions(k).map(([key, text, act]) => [text, act, key]),
    );
  }

  edgeKey(k, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const key = event.key === "Backspace" ? "Delete" : event.key;
    const action = this.edgeActions(k).find(([own]) => own === key);
    if (action) action[2]();
    return Boolean(action);
  }

  nodeMenu(v, place) {
    const { tiers, unconfounded } = this.state.knowledge,
      free = !unconfounded.includes(v);
    const tier = tiers.findIndex((names) => names.includes(v));
    const effect = this.state.effect || [null, null];
    this.openMenu(
      place,
      this.names[v],
      [
        [
          "Begin an edge here",
          () => {
            this.canvas.boxes[v].focus();
            this.canvas.setFrom(v);
          },
        ],
        [
          free ? "Mark as unconfounded" : "May be confounded again",
          () => this.ask({ do: "confounded", node: v, possible: !free }),
        ],
        ...(tiers.length
          ? [
              ...tiers.map((_, k) =>
                k === tier
                  ? null
                  : [`Move to tier ${k + 1}`, () => this.ask({ do: "tier", node: v, tier: k })],
              ),
              tier >= 0
                ? ["Take out of the tiers", () => this.ask({ do: "tier", node: v, tier: null })]
                : null,
            ]
          : []),
        ["Follow effects of it", () => this.follow(v, effect[1] === v ? null : effect[1])],
        ["Follow effects on it", () => this.follow(effect[0] === v ? null : effect[0], v)],
      ].filter(Boolean),
    );
  }

  follow(of, on) {
    this.setPanel("class");
    if (of === null || on === null) {
      this.field(of === null ? "effect-on" : "effect-of").value = String(of === null ? on : of);
      this.field(of === null ? "effect-of" : "effect-on").focus();
    } else this.ask({ do: "effect", of, on });
  }

  openMenu(place, title, actions) {
    this.returnTo = document.activeElement;
    this.menu.replaceChildren(
      make("p", {}, title),
      ...actions.map(([text, act, key]) =>
        make(
          "button",
          {
            type: "button",
            role: "menuitem",
            tabindex: -1,
            onclick: () => {
              this.closeMenu();
              act();
            },
          },
          text,
          key ? make("kbd", {}, key) : null,
        ),
      ),
    );
    this.menu.setAttribute("aria-label", title);
    this.menu.hidden = false;
    const frame = this.element.getBoundingClientRect();
    const left = Math.min(place[0] - frame.left + 6, frame.width - this.menu.offsetWidth - 8);
    const below = place[1] + this.menu.offsetHeight + 20 < innerHeight;
    this.menu.style.left = `${Math.max(8, left)}px`;
    this.menu.style.top = `${Math.max(4, place[1] - frame.top + (below ? 10 : -this.menu.offsetHeight - 10))}px`;
    this.menu.querySelector("button").focus();
  }

  closeMenu() {
    if (this.menu.hidden) return;
    const inside = this.menu.contains(document.activeElement);
    this.menu.hidden = true;
    if (inside && this.returnTo && this.returnTo.isConnected) this.returnTo.focus();
  }

  key(event) {
    const typing = event.target.matches("input, textarea, select");
    const command = event.ctrlKey || event.metaKey;
    if (!this.menu.hidden && this.menu.contains(event.target)) {
      const items = [...this.menu.querySelectorAll("button")],
        now = items.indexOf(document.activeElement);
      const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 }[
        event.key
      ];
      if (to !== undefined) items[(to + items.length) % items.length].focus();
      else if (event.key === "Escape" || event.key === "Tab") this.closeMenu();
      else return;
    } else if (event.key === "Escape") {
      this.excuse();
      return;
    } else if (command && !typing && event.key.toLowerCase() === "z")
      this.ask({ do: event.shiftKey ? "redo" : "undo" });
    else if (command && !typing && event.key.toLowerCase() === "y") this.ask({ do: "redo" });
    else if (!command && !typing && !event.altKey && "1234".includes(event.key))
      this.setMode(MODES[Number(event.key) - 1][0]);
    else return;
    event.preventDefault();
  }

  // --- panels ---

  setPanel(id) {
    this.panel = id;
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.panel === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("tabindex", chosen ? 0 : -1);
    }
    this.page.setAttribute("aria-labelledby", `bf-tab-${id}`);
    if (this.state) this.renderPanel();
    if (id === "test" && this.state) this.askSeparation();
  }

  tabKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...this.tabs.children],
      next = (tabs.indexOf(event.target) + step + tabs.length) % tabs.length;
    this.setPanel(tabs[next].dataset.panel);
    tabs[next].focus();
    event.preventDefault();
  }

  // Render the panel that is seen; with `which`, only if it is one of these.
  renderPanel(which = null) {
    if ((which && !which.includes(this.panel)) || !this.state) return;
    const seed = this.field("seed");
    if (seed)
      this.searchFields = {
        seed: seed.value,
        seconds: this.field("seconds").value,
        drawn: this.field("from-drawn").checked,
      };
    const focus = document.activeElement,
      inside = this.page.contains(focus) && focus !== this.page;
    const again =
      inside &&
      (focus.dataset.field
        ? `[data-field="${focus.dataset.field}"]`
        : focus.dataset.given
          ? `[data-given="${focus.dataset.given}"]`
          : null);
    const number = inside ? [...this.page.querySelectorAll("button")].indexOf(focus) : -1;
    const top = this.page.scrollTop;
    this.page.replaceChildren(...PANELS.find(([id]) => id === this.panel)[2](this));
    this.page.scrollTop = top;
    // What had the focus has been made anew: it, or its neighbour, has it again.
    if (again && this.page.querySelector(again)) this.page.querySelector(again).focus();
    else if (number >= 0) (this.page.querySelectorAll("button")[number] || this.page).focus();
  }

  showEdge(k) {
    this.canvas.parts[k].focus();
    this.canvas.parts[k].scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  async askSeparation() {
    const { a, b, given } = this.separation;
    if (a === b || this.names.length < 2) {
      this.separation.found = { error: "Choose two different variables." };
      this.renderPanel(["test"]);
      return;
    }
    const answer = await this.transport.ask({ do: "separation", a, b, given });
    this.separation.found = answer.separation || { error: answer.error };
    this.renderPanel(["test"]);
  }

  // --- long work ---

  progressPart() {
    const { errand, progress, stopping } = this.errand;
    const text = stopping
      ? "stopping …"
      : !progress
        ? `${errand} …`
        : `${progress.done} of ${progress.planned} ${progress.what}, ${progress.seconds.toFixed(0)} s${missing(progress.best_score) ? "" : `, best score ${fixed(progress.best_score, 4)}`}`;
    return make(
      "div",
      { class: "progress", "data-field": "progress" },
      make(
        "progress",
        progress && progress.planned
          ? { max: progress.planned, value: progress.done, "aria-label": errand }
          : { "aria-label": errand },
      ),
      make("span", {}, text),
    );
  }

  setErrand(errand) {
    const before = this.errand;
    this.errand = errand;
    const part = this.field("progress");
    if (before && errand && part) part.replaceWith(this.progressPart());
    else this.renderPanel(["search", "keep"]);
  }

  end(message) {
    this.errand = null;
    this.ended = message;
    this.say(`${message.errand}: ${message.said}`);
    if (message.errand === "report" && this.wantsReport) {
      this.wantsReport = false;
      if (!message.failed)
        this.transport.ask({ do: "written" }).then((a) => {
          if (a.file) download(a.file, a.name, "text/html");
        });
    }
    this.renderPanel(["search", "keep"]);
  }

  async report() {
    this.wantsReport = true;
    this.say("Writing the report …");
    const answer = await this.ask({ do: "report" });
    if (answer.error) this.wantsReport = false;
  }

  async load(file) {
    if (file.size > 4e6) {
      this.refuse({ error: `${file.name} is too large for a session` });
      return;
    }
    const answer = await this.ask({ do: "load", text: await file.text() });
    if (!answer.error) this.say(`${file.name} is loaded.`);
  }

  // --- another graph beside it ---

  async lookAt(which) {
    const asked = (this.looking = {});
    const answer = await this.transport.ask({ do: "look", which });
    if (this.looking !== asked) return; // closed meanwhile, or another one is looked at
    if (answer.error) {
      this.refuse(answer);
      this.closeOther();
      return;
    }
    this.other = which;
    this.otherGraph = answer.other;
    this.comparison = answer.comparison;
    const name = which === "pinned" ? "The kept graph" : `Found: number ${which + 1}`;
    if (!this.second) {
      const host = make("figure", { class: "other" }, make("figcaption"));
      this.canvas.host.after(host);
      this.stage.classList.add("two");
      this.second = new Canvas(host, this.about(), name);
    }
    this.second.host.firstChild.textContent = name;
    this.second.svg.setAttribute(
      "aria-label",
      `${name}: ${counted(differences(this.state.graph, this.otherGraph).length, "difference")}`,
    );
    this.second.setGraph(this.otherGraph, { knowledge: this.state.knowledge });
    this.second.setPlaces(this.canvas.centres, this.canvas.bands);
    this.canvas.fit();
    this.render();
  }

  stepCandidate(step) {
    const count = this.candidates.graphs.length;
    const now = typeof this.other === "number" ? this.other + step : step > 0 ? 0 : count - 1;
    this.lookAt((now + count) % count);
  }

  closeOther() {
    this.other = this.otherGraph = this.comparison = this.looking = null;
    if (this.second) {
      this.second.host.remove();
      this.second = null;
    }
    this.stage.classList.remove("two");
    this.canvas.fit();
    this.render();
  }

  async takeOther() {
    const answer = await this.ask({ do: "take", which: this.other });
    if (!answer.error) this.closeOther();
  }

  async pin() {
    await this.ask({ do: "pin" });
    this.say("The drawn graph is kept for comparison.");
  }

  // --- light and dark ---

  isDark() {
    const chosen = this.element.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  turnTheme() {
    this.element.dataset.theme = this.isDark() ? "light" : "dark";
    this.nameTheme();
  }

  nameTheme() {
    const theme = this.element.querySelector(".theme");
    theme.textContent = this.isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", `Show the page ${this.isDark() ? "light" : "dark"}`);
  }
}
