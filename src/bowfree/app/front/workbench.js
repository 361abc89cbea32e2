// --- workbench: one page, its state, and the messages to and from the session ---

class Workbench {
  static count = 0; // a notebook may show several

  constructor(root, transport) {
    this.transport = transport;
    this.id = `bf-${++Workbench.count}`;
    this.later = {};
    this.version = 0;
    this.panel = "fit";
    this.separation = { a: 0, b: 1, given: [], found: null };
    this.searchFields = { seed: 1, seconds: "", drawn: true };
    this.format = "text";
    this.kept = null;
    // JupyterLab keeps its shortcuts to itself where it sees the second attribute.
    this.element = make("div", { class: "bf-workbench", "data-lm-suppress-shortcuts": "true" });
    root.append(this.element);
    this.theme = new Theme(this.element);
    this.menus = new Menus(this);
    this.callout = new Callout(this);
    this.beside = new Beside(this);
    this.errands = new Errands(this);
    this.element.append(make("p", { class: "hint" }, "Waiting for the data …"));
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.touch = (event) => this.touchElsewhere(event);
    document.addEventListener("pointerdown", this.touch, true);
    transport.listen(
      (message) => this.hear(message),
      (alive) => this.setAlive(alive),
    );
  }

  // Take the page away.
  close() {
    document.removeEventListener("pointerdown", this.touch, true);
    this.theme.close();
    this.transport.close();
    this.element.remove();
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
      candidates: h.candidates,
      shares: h.shares,
      pinned: h.pinned,
      moves: h.places.moves,
    });
    this.version = 0;
    this.errands.now = h.errand;
    if (first) buildFrame(this);
    this.canvas.setGraph(h.state.graph, { knowledge: h.state.knowledge });
    this.canvas.setPlaces(h.places.centers, h.places.bands);
    this.setState(h.state, true);
    for (const message of h.later) this.later[message.kind] = message;
    this.render();
  }

  // --- the frame of the page ---

  about() {
    return { names: this.names, labels: this.labels, sizes: this.sizes };
  }

  field(name) {
    return this.element.querySelector(`[data-field="${name}"]`);
  }

  // What has the focus; in the tree of a widget of its own, if a notebook made one.
  focused() {
    return this.element.getRootNode().activeElement;
  }

  hand() {
    const { menus } = this;
    return {
      say: (text) => this.say(text),
      draw: (a, mark, b) =>
        this.ask(mark === "--" ? { do: "forbid", a, mark, b } : { do: "draw", a, mark, b }, [a, b]),
      place: (v, x, y) => this.placeBox(v, x, y),
      edgeMenu: (k, place) => menus.edgeMenu(k, place),
      nodeMenu: (v, place) => menus.nodeMenu(v, place),
      pairMenu: (a, b, place) => menus.pairMenu(a, b, place),
      edgeKey: (k, event) => menus.edgeKey(k, event),
    };
  }

  // --- messages ---

  // Ask the session; a refusal is shown on the canvas, between the variables it is about.
  async ask(message, pair = null) {
    this.callout.excuse();
    let answer;
    try {
      answer = await this.transport.ask(message);
    } catch {
      this.setAlive(false);
      return { error: "lost" };
    }
    if (answer.error) this.callout.refuse(answer, pair);
    if (answer.state) this.setState(answer.state);
    if (answer.places) this.setPlaces(answer.places);
    if ("errand" in answer) this.errands.begin(answer.errand);
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
    else if (kind === "errand") this.errands.set(message.errand);
    else if (kind === "ended") this.errands.end(message);
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
    if (fresh && this.beside.which !== null) this.beside.look(this.beside.which);
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
    for (const picture of this.pictures()) picture.setPlaces(places.centers, places.bands);
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
      differs: this.beside.marked(graph, this.beside.graph),
    });
    this.canvas.svg.setAttribute(
      "aria-label",
      `The drawn graph: ${counted(this.names.length, "variable")}, ${counted(graph.length, "edge")}`,
    );
    this.beside.draw();
  }

  renderNumbers() {
    this.numbers.replaceChildren(...numberParts(this));
  }

  pictures() {
    return [this.canvas, this.beside.picture].filter(Boolean);
  }

  show(what, value) {
    for (const picture of this.pictures()) {
      picture.shown[what] = value;
      picture.drawAll();
    }
  }

  zoom(factor) {
    for (const picture of this.pictures()) {
      if (factor) picture.setScale(picture.scale * factor);
      else picture.fit(0);
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
          this.callout.refuse(answer, [v, v]);
        }
      });
    } else this.ask({ do: "place", node: v, x, y });
  }

  // --- keys, and touches elsewhere ---

  key(event) {
    const typing = event.target.matches("input, textarea, select");
    const command = event.ctrlKey || event.metaKey;
    if (this.menus.element.contains(event.target)) {
      if (!this.menus.key(event)) return;
    } else if (event.key === "Escape") {
      this.callout.excuse();
      return;
    } else if (command && !typing && event.key.toLowerCase() === "z")
      this.ask({ do: event.shiftKey ? "redo" : "undo" });
    else if (command && !typing && event.key.toLowerCase() === "y") this.ask({ do: "redo" });
    else if (!command && !typing && !event.altKey && "1234".includes(event.key))
      this.setMode(MODES[Number(event.key) - 1][0]);
    else return;
    event.preventDefault();
  }

  // A touch outside of a menu or a callout closes it.
  touchElsewhere(event) {
    const path = event.composedPath();
    if (!path.includes(this.menus.element)) this.menus.close();
    if (!path.includes(this.callout.element)) this.callout.excuse();
  }

  // --- panels ---

  setPanel(id) {
    this.panel = id;
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.panel === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("tabindex", chosen ? 0 : -1);
    }
    this.page.setAttribute("aria-labelledby", `${this.id}-tab-${id}`);
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
    const focus = this.focused(),
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
    // What had the focus has been made anew: it, or its neighbor, has it again.
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

  // --- to keep ---

  async load(file) {
    if (file.size > 4e6) {
      this.callout.refuse({ error: `${file.name} is too large for a session` });
      return;
    }
    const answer = await this.ask({ do: "load", text: await file.text() });
    if (!answer.error) this.say(`${file.name} is loaded.`);
  }

  async pin() {
    await this.ask({ do: "pin" });
    this.say("The drawn graph is kept for comparison.");
  }
}
