// @ts-check
// --- workbench: the page, its state, and the messages to and from the session ---

const MAX_SUGGESTIONS = 4;

class Workbench {
  static count = 0; // a notebook may contain several
  /** @type {string[]} */ names;
  /** @type {string[]} */ labels;
  /** @type {Point[]} */ sizes;
  /** @type {string[]} */ formats;
  data = "";
  aboutData = "";
  /** @type {State} */ state;
  /** @type {Record<string, any>} */ analyses = {}; // messages about the current version, by kind
  /** @type {Record<string, object | null>} */ asked = {}; // the last question of each kind
  /** @type {any} */ candidates;
  /** @type {Shares | null} */ shares = null;
  /** @type {Edge[] | null} */ pinned = null;
  moves = 0;
  /** @type {any[] | null} */ early = []; // messages before the answer to "hello"
  /** @type {{ number: number, graph: Edge[] } | null} */ member = null; // shown in place of the current graph
  /** @type {any[] | null} */ implications = null;
  /** @type {any} */ saved = null; // the session as a file, for the time after the server has ended
  /** @type {boolean | undefined} */ connected;
  /** @type {number | undefined} */ saving; // a timer
  /** @type {{ a: number, b: number, given: number[], found: any }} */
  separation = { a: 0, b: 1, given: [], found: null };
  /** @type {{ a: number, b: number | null, found: any }} */ dataQuery = { a: 0, b: null, found: null };
  /** @type {{ name: string, file: string } | null} */ text = null; // in the box of the panel "Files"
  // Elements, from buildFrame.
  /** @type {Canvas} */ canvas;
  /** @type {any} */ lost;
  /** @type {any} */ status;
  /** @type {any} */ numbers;
  /** @type {any} */ warningLine;
  /** @type {any} */ captionLine;
  /** @type {any} */ startLine;
  /** @type {any} */ stage;
  /** @type {any} */ filter;
  /** @type {any} */ tabs;
  /** @type {any} */ page;
  /** @type {any} */ undoButton;
  /** @type {any} */ redoButton;

  /** @param {HTMLElement} root @param {Transport} transport */
  constructor(root, transport) {
    this.transport = transport;
    this.id = `bf-${++Workbench.count}`;
    this.version = 0;
    this.panel = "fit";
    // The defaults of `bowfree learn`.
    this.searchFields = { seed: 0, restarts: "", seconds: "", fromCurrent: false };
    this.format = "text";
    // JupyterLab disables its shortcuts inside elements with the second attribute.
    this.element = make("div", { class: "bf-workbench", "data-lm-suppress-shortcuts": "true" });
    root.append(this.element);
    this.theme = new Theme(this.element);
    this.menus = new Menus(this);
    this.callout = new Callout(this);
    this.comparison = new Comparison(this);
    this.jobs = new Jobs(this);
    this.element.append(note("hint", "Waiting for the data …"));
    on(this.element, "keydown", (event) => this.onKey(event));
    /** @param {any} event */
    this.onPointer = (event) => this.closePopups(event);
    document.addEventListener("pointerdown", this.onPointer, true);
    transport.listen(
      (message) => this.receive(message),
      (connected) => this.setConnected(connected),
    );
  }

  // Remove the page.
  close() {
    document.removeEventListener("pointerdown", this.onPointer, true);
    this.theme.close();
    this.transport.close();
    this.element.remove();
  }

  async start() {
    this.early = []; // these messages may be newer than the answer
    const answer = await this.transport.ask({ do: "hello" }).catch(() => ({}));
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
      moves: h.positions.moves,
    });
    this.version = 0;
    this.jobs.reset(h.job);
    if (first) buildFrame(this);
    this.canvas.setGraph(h.state.graph, { knowledge: h.state.knowledge });
    this.canvas.setPositions(h.positions);
    this.setState(h.state, true);
    for (const message of h.analyses) this.analyses[message.kind] = message;
    this.dropCurves();
    this.render();
    const early = this.early;
    this.early = null;
    for (const message of early) this.receive(message);
  }

  // --- elements ---

  variables() {
    return { names: this.names, labels: this.labels, sizes: this.sizes };
  }

  /** @param {string} name @returns {any} */
  field(name) {
    return this.element.querySelector(`[data-field="${name}"]`);
  }

  // The focused element; notebooks may render a widget in a shadow tree.
  /** @returns {any} */
  focused() {
    return this.element.getRootNode().activeElement;
  }

  /** @returns {Actions} */
  canvasActions() {
    const { menus } = this;
    return {
      say: (text) => this.say(text),
      draw: (a, mark, b) => {
        if (mark === "ask") menus.selectEffect(a, b);
        else this.ask({ do: mark === "--" ? "forbid" : "draw", a, mark, b }, [a, b]);
      },
      move: (v, x, y) => this.moveVariable(v, x, y),
      // Only the current graph can be edited, not another one that is shown in its place.
      edgeMenu: (k, point) => this.showsCurrent() && menus.edgeMenu(k, point),
      nodeMenu: (v, point) => menus.nodeMenu(v, point),
      pairMenu: (a, b, point) => menus.pairMenu(a, b, point),
      edgeKey: (k, event) => this.showsCurrent() && menus.edgeKey(k, event),
      suggestion: ([a, mark, b]) => this.ask({ do: "change", a, mark, b, suggested: true }, [a, b]),
    };
  }

  // --- messages ---

  // Send a message to the session; errors are shown on the canvas, between the variables.
  /** @param {object} message @param {Pair | null} pair @returns {Promise<any>} */
  async ask(message, pair = null) {
    this.callout.hide();
    let answer;
    try {
      answer = await this.transport.ask(message);
    } catch {
      this.setConnected(false);
      return { error: "lost" };
    }
    if (answer.error) this.callout.show(answer, pair);
    if (answer.state) this.setState(answer.state);
    if (answer.positions) this.setPositions(answer.positions);
    if ("job" in answer) this.jobs.start(answer.job);
    if (answer.pinned) {
      this.pinned = answer.pinned;
      this.renderPanel();
    }
    return answer;
  }

  // Ask about the current graph; null if the graph has changed meanwhile, or a later question of
  // this kind was asked.
  /** @param {{ do: string, [field: string]: any }} message @returns {Promise<any>} */
  async query(message) {
    const { version } = this,
      asked = {};
    this.asked[message.do] = asked;
    const answer = await this.transport.ask(message).catch(() => ({ error: "The session does not answer" }));
    return this.asked[message.do] === asked && version === this.version ? answer : null;
  }

  /** @param {any} message */
  receive(message) {
    if (this.early) {
      this.early.push(message);
      return;
    }
    const { kind } = message;
    if (kind === "state") this.setState(message.state);
    else if (kind === "positions") this.setPositions(message.positions);
    else if (kind === "job") this.jobs.update(message.job);
    else if (kind === "job_ended") this.jobs.end(message);
    else if (kind === "candidates") {
      this.candidates = message.candidates;
      this.renderPanel(["search", "fit"]);
    } else if (kind === "shares") {
      this.shares = message.shares;
      this.render();
    } else if (kind === "pinned") {
      this.pinned = message.graph;
      this.renderPanel(["compare"]);
    } else if (message.version === this.version && (!message.pair || this.isSelected(message.pair))) {
      this.analyses[kind] = message;
      this.drawGraph();
      this.renderSummary();
      /** @type {Record<string, string[]>} */
      const panels = { changes: ["next"], class: ["class", "effect"], effect: ["effect"], warnings: ["fit"] };
      this.renderPanel(panels[kind]);
    }
  }

  /** @param {State} state @param {any} [quiet] */
  setState(state, quiet = false) {
    if (state.version < this.version) return;
    const isNew = state.version > this.version;
    // Curves belong to positions: those of the same version may have been replaced meanwhile, and
    // those for other positions do not fit.
    if (!isNew) state = { ...state, curves: this.state.curves };
    else if (state.moves !== this.moves) state = { ...state, curves: {} };
    this.state = state;
    this.version = state.version;
    if (isNew) Object.assign(this, { analyses: {}, member: null, implications: null });
    if (isNew && !quiet) this.autosave();
    if (isNew && !quiet && state.change.description) this.say(this.describeChange(state));
    this.render();
    if (isNew && this.comparison.which !== null) this.comparison.show(this.comparison.which);
    if (isNew && this.panel === "test") this.askSeparation();
    if (isNew && this.panel === "data") this.askData(this.dataQuery.a, this.dataQuery.b);
  }

  // The analysis of an effect that is no longer selected is ignored when it arrives.
  /** @param {number} of @param {number} on */
  async askEffect(of, on) {
    delete this.analyses.effect;
    this.state = { ...this.state, effect: [of, on] };
    this.render();
    const answer = await this.ask({ do: "effect", of, on });
    if (answer.error) this.receive({ kind: "effect", version: this.version, problem: answer.error });
  }

  /** @param {Pair} pair */
  isSelected(pair) {
    return pair.join() === this.state.effect?.join();
  }

  /** @param {State} state */
  describeChange(state) {
    const { fit, change } = state;
    if (!fit) return `${change.description}. ${state.problem}`;
    const gain = this.hasGain(change) ? `, ${signed(change.score, 4)}` : "";
    const test = fit.df ? `, ${pText(fit.p_value)}` : "";
    const chiSquare = `${fit.test} ${fixed(fit.chi2, 1)} on ${fit.df} df${test}`;
    return `${change.description}. Score ${fixed(fit.score, 4)}${gain}; ${chiSquare}.`;
  }

  // Whether the score has changed: with four zeros the models are the same, or nearly.
  /** @param {any} change */
  hasGain(change) {
    return Boolean(change.description) && !missing(change.score) && Math.abs(change.score) >= 5e-5;
  }

  /** @param {Positions} positions */
  setPositions(positions) {
    if (positions.moves <= this.moves || this.canvas.dragged) return;
    this.moves = positions.moves;
    this.state = { ...this.state, curves: positions.curves };
    this.dropCurves();
    this.canvas.setPositions(positions);
    if (this.comparison.which !== null) {
      this.comparison.view.setPositions({ ...positions, curves: {} });
      this.comparison.show(this.comparison.which);
    }
    this.autosave();
  }

  // Positions come with the curves of suggested edges and of the PAG.
  dropCurves() {
    if (this.analyses.changes) this.analyses.changes.curves = {};
    if (this.analyses.class?.pag) this.analyses.class.pag.curves = {};
  }

  // Keep the session in the page and in the browser: neither an end of the server nor a closed page
  // loses the work.
  autosave() {
    clearTimeout(this.saving);
    this.saving = setTimeout(async () => {
      const answer = await this.transport.ask({ do: "save" }).catch(() => ({}));
      if (!answer.file) return;
      this.saved = answer;
      try {
        localStorage.setItem(this.storageKey(), answer.file);
      } catch {
        // Storage may be full or disabled: the page still has the session.
      }
    }, 250);
  }

  storageKey() {
    return `bowfree ${this.names.join(", ")}`;
  }

  // The session that the browser kept for data with these variables, if it has edges.
  lastSession() {
    try {
      const text = localStorage.getItem(this.storageKey());
      return text && JSON.parse(text).edges.length ? text : null;
    } catch {
      return null;
    }
  }

  async save() {
    const answer = await this.transport.ask({ do: "save" }).catch(() => this.saved);
    if (answer?.file) download(answer.file, answer.name, "application/json");
    else this.say("There is nothing to save yet.");
  }

  /** @param {boolean} connected */
  setConnected(connected) {
    const reconnected = this.connected === false && connected;
    this.connected = connected;
    if (this.lost) {
      this.lost.hidden = connected;
      if (!connected) this.lost.textContent = this.transport.lost;
    }
    if (connected && (reconnected || !this.names)) this.start();
  }

  /** @param {string} text */
  say(text) {
    this.status.textContent = text;
  }

  // --- rendering ---

  render() {
    this.drawGraph();
    this.renderSummary();
    this.undoButton.disabled = !this.state.undo;
    this.redoButton.disabled = !this.state.redo;
    this.undoButton.title = this.state.undo ? `Undo: ${this.state.undo}` : "Nothing to undo";
    this.redoButton.title = this.state.redo ? `Redo: ${this.state.redo}` : "Nothing to redo";
    this.renderPanel();
  }

  showsCurrent() {
    return !this.member && this.canvas.display.marks !== "pag";
  }

  drawGraph() {
    const { graph, knowledge, edges, curves } = this.state,
      { class: found, changes } = this.analyses;
    if (this.member) {
      this.canvas.setGraph(this.member.graph, {
        knowledge,
        differs: this.comparison.markDifferences(this.member.graph, graph),
        curves: this.memberCurves(this.member.graph),
        question: this.panel === "effect" ? this.state.effect : null,
      });
      return;
    }
    const marks = this.canvas.display.marks;
    if (marks === "pag" && found && found.pag) {
      const { edges: pairs, ends, curves: more } = found.pag;
      this.canvas.setGraph(pairs, { knowledge, ends, curves: { ...more, ...curves } });
      return;
    }
    this.canvas.setGraph(graph, {
      knowledge,
      estimates: edges,
      shares: this.shares,
      ends: found && !found.problem ? found.ends : null,
      differs: this.comparison.markDifferences(graph, this.comparison.graph),
      curves: { ...changes?.curves, ...curves },
      suggestions: this.suggestions(),
      question: this.panel === "effect" ? this.state.effect : null,
      paths: this.panel === "effect" ? this.analyses.effect : null,
    });
    this.canvas.svg.setAttribute(
      "aria-label",
      `The current graph: ${counted(this.names.length, "variable")}, ${counted(graph.length, "edge")}`,
    );
    this.comparison.draw();
  }

  // The best additions, one for each pair, if they improve the score.
  suggestions() {
    const { changes } = this.analyses,
      pairs = new Set();
    if (!changes?.changes) return [];
    return changes.changes
      .filter((/** @type {any} */ { a, b, before, score }) => {
        const pair = `${Math.min(a, b)},${Math.max(a, b)}`;
        if (before || score < 1e-9 || pairs.has(pair)) return false;
        pairs.add(pair);
        return true;
      })
      .slice(0, MAX_SUGGESTIONS);
  }

  // --- equivalent graphs, one after the other ---

  /** @param {number} number */
  async showMember(number) {
    const answer = await this.query({ do: "member", number });
    if (!answer) return;
    if (answer.error) {
      this.callout.show(answer);
      return;
    }
    this.member = { number, ...answer.member };
    this.drawGraph();
    this.renderPanel(["class", "effect"]);
  }

  hideMember() {
    if (!this.member) return;
    this.member = null;
    this.drawGraph();
  }

  // Equivalent graphs have the same pairs: their edges keep the curves of the current graph.
  /** @param {Edge[]} member */
  memberCurves(member) {
    const { graph, curves } = this.state;
    return Object.fromEntries(
      member.map(([a, mark, b]) => {
        const own = graph.find(([x, , y]) => (x === a && y === b) || (x === b && y === a)) || [a];
        const found = curves[own.join()],
          turned = { ...found, points: [...found.points].reverse(), bend: -found.bend };
        return [`${a},${mark},${b}`, own[0] === a ? found : turned];
      }),
    );
  }

  // --- pictures ---

  caption() {
    const { fit, graph, penalty, chosen_on_data } = this.state,
      found = this.analyses.class;
    const lines = [
      fit
        ? `${this.data}: ${this.aboutData}; score ${fixed(fit.score, 4)} (penalty ${penalty}), ` +
          `${fit.test} ${fixed(fit.chi2, 1)} on ${fit.df} df${fit.df ? `, ${pText(fit.p_value)}` : ""}.`
        : `${this.data}: ${this.aboutData}.`,
    ];
    if (graph.length && found && !found.problem) lines.push(classText(found));
    if (chosen_on_data)
      lines.push("The graph was chosen on the same data: tests and intervals look too certain.");
    return lines;
  }

  pictureText() {
    const background = getComputedStyle(this.element).backgroundColor;
    return pictureText(this.canvas.svg, this.caption(), background);
  }

  /** @param {string} kind */
  savePicture(kind) {
    return savePicture(this.pictureText(), kind, "graph");
  }

  // A single file with this page, recorded answers and the session, which "Load" reads.
  async share() {
    const answer = await this.ask({ do: "share" });
    if (!answer.error) download(answer.file, answer.name, "text/html");
  }

  renderSummary() {
    this.numbers.replaceChildren(...summaryParts(this));
    this.warningLine.replaceChildren(...warningParts(this));
    const start = startParts(this);
    // Buttons that stay are not replaced, because a click has to end where it began.
    if (start.length !== this.startLine.childNodes.length) this.startLine.replaceChildren(...start);
    this.captionLine.textContent = this.caption().join(" ");
    this.startLine.hidden = !start.length;
    this.filter.hidden = this.state.graph.length < 30;
  }

  // Search with the defaults and show the best graph.
  async findGraph() {
    this.setPanel("search");
    this.jobs.usesBest = true; // the search may end before the answer arrives
    const seed = Number(this.searchFields.seed);
    const answer = await this.ask({ do: "search", seed, from_current: false, average: true });
    if (answer.error) this.jobs.usesBest = false;
  }

  async useBest() {
    const answer = await this.ask({ do: "use", which: 0 });
    if (!answer.error) this.ask({ do: "arrange", how: this.state.knowledge.tiers.length ? "bands" : "rows" });
  }

  /** @param {string} name */
  findVariable(name) {
    const v = this.names.findIndex((own) => own.toLowerCase() === name.trim().toLowerCase());
    const part =
      v >= 0 ? v : this.names.findIndex((own) => own.toLowerCase().includes(name.trim().toLowerCase()));
    if (part < 0 || !name.trim()) {
      this.say(`No variable contains "${name}".`);
      return;
    }
    this.canvas.boxes[part].scrollIntoView({ block: "center", inline: "center" });
    this.canvas.boxes[part].focus();
  }

  /** @returns {GraphView[]} */
  views() {
    return [this.canvas, this.comparison.view].filter(Boolean);
  }

  /** @param {"labels" | "marks" | "least" | "suggestions"} option @param {any} value */
  setDisplay(option, value) {
    for (const view of this.views()) {
      Object.assign(view.display, { [option]: value });
      view.drawAll();
    }
    if (option === "marks") this.drawGraph();
  }

  /** @param {number} factor */
  zoom(factor) {
    for (const view of this.views()) {
      if (factor) view.zoomAt(view.scale * factor);
      else view.fit(0);
    }
  }

  /** @param {string} mode */
  setMode(mode) {
    this.canvas.mode = mode;
    this.canvas.svg.setAttribute("data-mode", mode);
    for (const choice of this.element.querySelectorAll("[data-mode][role=radio]")) {
      choice.setAttribute("aria-checked", String(choice.dataset.mode === mode));
      choice.setAttribute("tabindex", choice.dataset.mode === mode ? 0 : -1);
    }
  }

  /** @param {any} event */
  onModeKey(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    const step = steps[event.key];
    if (!step) return;
    const now = MODES.findIndex(([mode]) => mode === this.canvas.mode);
    this.setMode(MODES[(now + step + MODES.length) % MODES.length][0]);
    this.element.querySelector("[role=radio][aria-checked=true]").focus();
    event.preventDefault();
  }

  /** @param {number} v @param {number} x @param {number} y */
  moveVariable(v, x, y) {
    const tier = this.canvas.bands.findIndex(([top, bottom]) => y >= top && y < bottom);
    const oldTier = this.state.knowledge.tiers.findIndex((names) => names.includes(v));
    if (this.canvas.bands.length && tier !== oldTier) {
      this.ask({ do: "tier", node: v, tier: tier < 0 ? null : tier }).then((answer) => {
        if (answer.error) {
          this.moves = -1;
          this.ask({ do: "arrange", how: "bands" });
          this.callout.show(answer, [v, v]);
        }
      });
    } else this.ask({ do: "position", node: v, x, y });
  }

  // --- keyboard and pointer ---

  /** @param {any} event */
  onKey(event) {
    const typing = event.target.matches("input, textarea, select");
    const command = event.ctrlKey || event.metaKey;
    if (this.menus.element.contains(event.target)) {
      if (!this.menus.onKey(event)) return;
    } else if (event.key === "Escape") {
      this.callout.hide();
      return;
    } else if (command && !typing && event.key.toLowerCase() === "z")
      this.ask({ do: event.shiftKey ? "redo" : "undo" });
    else if (command && !typing && event.key.toLowerCase() === "y") this.ask({ do: "redo" });
    else if (!command && !typing && !event.altKey && "12345".includes(event.key))
      this.setMode(MODES[Number(event.key) - 1][0]);
    else return;
    event.preventDefault();
  }

  // A click outside a menu or a callout closes it.
  /** @param {any} event */
  closePopups(event) {
    const path = event.composedPath();
    if (!path.includes(this.menus.element)) this.menus.close();
    if (!path.includes(this.callout.element)) this.callout.hide();
  }

  // --- panels ---

  /** @param {string} id */
  setPanel(id) {
    this.panel = id;
    if (this.state) {
      this.member = null;
      this.drawGraph();
    }
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.panel === id;
      tab.setAttribute("aria-selected", String(chosen));
      tab.setAttribute("tabindex", chosen ? 0 : -1);
    }
    this.page.setAttribute("aria-labelledby", `${this.id}-tab-${id}`);
    if (this.state) this.renderPanel();
    if (id === "test" && this.state) this.askSeparation();
    if (id === "data" && this.state) this.askData(this.dataQuery.a, this.dataQuery.b);
  }

  /** @param {any} event */
  onTabKey(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowRight: 1, ArrowLeft: -1 };
    const step = steps[event.key];
    if (!step) return;
    const tabs = [...this.tabs.children],
      next = (tabs.indexOf(event.target) + step + tabs.length) % tabs.length;
    this.setPanel(tabs[next].dataset.panel);
    tabs[next].focus();
    event.preventDefault();
  }

  // Render the visible panel; with `which`, only if it is one of these.
  /** @param {string[] | null} which */
  renderPanel(which = null) {
    if ((which && !which.includes(this.panel)) || !this.state) return;
    const seed = this.field("seed");
    if (seed)
      this.searchFields = {
        seed: seed.value,
        restarts: this.field("restarts").value,
        seconds: this.field("seconds").value,
        fromCurrent: this.field("from-current").checked,
      };
    const focus = this.focused(),
      inside = this.page.contains(focus) && focus !== this.page;
    const selector =
      inside &&
      (focus.dataset.field
        ? `[data-field="${focus.dataset.field}"]`
        : focus.dataset.given
          ? `[data-given="${focus.dataset.given}"]`
          : null);
    const number = inside ? [...this.page.querySelectorAll("button")].indexOf(focus) : -1;
    const top = this.page.scrollTop;
    const [, , panel] = PANELS.find(([id]) => id === this.panel) || PANELS[0];
    this.page.replaceChildren(...panel(this));
    this.page.scrollTop = top;
    // The focused element was replaced: focus the new one, or its neighbor.
    if (selector && this.page.querySelector(selector)) this.page.querySelector(selector).focus();
    else if (number >= 0) (this.page.querySelectorAll("button")[number] || this.page).focus();
  }

  /** @param {number} k */
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
    const answer = await this.query({ do: "separation", a, b, given });
    if (!answer) return;
    this.separation.found = answer.separation || { error: answer.error };
    this.renderPanel(["test"]);
  }

  /** @param {number} a @param {number | null} b */
  async askData(a, b) {
    const answer = await this.query({ do: "data", a, b: a === b ? null : b });
    if (answer) this.dataQuery = { a, b: a === b ? null : b, found: answer.data || { error: answer.error } };
    this.renderPanel(["data"]);
  }

  // --- files ---

  /** @param {string} text */
  async restore(text) {
    const answer = await this.ask({ do: "load", text });
    if (!answer.error) this.say("The last session was restored.");
  }

  // Open another table of the same machine in this page.
  /** @param {File} file */
  async openTable(file) {
    if (file.size > 4e6) {
      this.callout.show({ error: `${file.name} is too large for the page: use \`bowfree app\`` });
      return;
    }
    const answer = await this.ask({ do: "open", name: file.name, text: await file.text() });
    if (answer.opened) location.reload();
  }

  /** @param {File} file */
  async load(file) {
    if (file.size > 4e6) {
      this.callout.show({ error: `${file.name} is too large for a session file` });
      return;
    }
    let text = await file.text();
    const shared = text.match(/<script type="application\/json">([^<]*)<\/script>/);
    if (shared) text = JSON.parse(shared[1])['{"do":"save"}'][0].file;
    const answer = await this.ask({ do: "load", text });
    if (!answer.error) this.say(`${file.name} was loaded.`);
  }

  async pin() {
    await this.ask({ do: "pin" });
    this.say("The current graph was kept for comparison.");
  }
}
