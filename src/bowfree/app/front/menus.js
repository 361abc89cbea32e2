// @ts-check
// --- menus of edges, variables and forbidden edges ---

class Menus {
  /** @type {HTMLElement | null} */ returnTo = null;

  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
    this.element = make("div", { class: "menu", role: "menu", hidden: true });
  }

  /** @param {number} k @returns {[string, string, () => any][]} */
  edgeActions(k) {
    const { bench } = this;
    const [a, mark, b] = bench.state.graph[k],
      pair = /** @type {Pair} */ ([a, b]),
      locked = bench.canvas.isLocked(bench.state.graph[k]);
    /** @type {(to: string) => any} */
    const change = (to) => () => bench.ask({ do: "change", a, mark: to, b }, pair);
    /** @type {any[]} */
    const actions = [
      mark === "->" ? ["t", "Reverse", change("<-")] : null,
      mark === "->"
        ? ["c", "Change to ↔ (hidden cause)", change("<->")]
        : ["c", `Change to ${bench.names[a]} → ${bench.names[b]}`, change("->")],
      mark === "<->" ? ["t", `Change to ${bench.names[a]} ← ${bench.names[b]}`, change("<-")] : null,
      ["Delete", "Delete", change("")],
      ["l", locked ? "Unlock" : "Lock: require it in searches", () => bench.ask({ do: "lock", a, b }, pair)],
      ["f", "Forbid: exclude it from searches", () => bench.ask({ do: "forbid", a, mark, b }, pair)],
      ["d", "Show the data behind it", () => this.showData(a, b)],
      mark === "->" ? ["e", "Show this effect", () => this.selectEffect(a, b)] : null,
    ];
    return actions.filter(Boolean);
  }

  /** @param {number} k @param {Point} point */
  edgeMenu(k, point) {
    const { bench } = this;
    const [a, mark, b] = bench.state.graph[k];
    this.open(
      point,
      `${bench.names[a]} ${ARROWS[mark]} ${bench.names[b]}`,
      this.edgeActions(k).map(([key, text, act]) => [text, act, key]),
    );
  }

  /** @param {number} k @param {any} event */
  edgeKey(k, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    const key = event.key === "Backspace" ? "Delete" : event.key;
    const action = this.edgeActions(k).find(([own]) => own === key);
    if (action) action[2]();
    return Boolean(action);
  }

  /** @param {number} v @param {Point} point */
  nodeMenu(v, point) {
    const { bench } = this;
    const { tiers, unconfounded } = bench.state.knowledge,
      free = !unconfounded.includes(v);
    const tier = tiers.findIndex((names) => names.includes(v));
    const effect = bench.state.effect || [null, null];
    this.open(
      point,
      bench.names[v],
      [
        [
          "Start an edge here",
          () => {
            bench.canvas.boxes[v].focus();
            bench.canvas.setFrom(v);
          },
        ],
        [
          free ? "Mark as unconfounded" : "Mark as possibly confounded",
          () => bench.ask({ do: "confounded", node: v, possible: !free }),
        ],
        ...(tiers.length
          ? [
              ...tiers.map((_, k) =>
                k === tier
                  ? null
                  : [`Move to tier ${k + 1}`, () => bench.ask({ do: "tier", node: v, tier: k })],
              ),
              tier >= 0
                ? ["Remove from the tiers", () => bench.ask({ do: "tier", node: v, tier: null })]
                : null,
            ]
          : []),
        ["Show its data", () => this.showData(v, null)],
        ["Show an effect of it", () => this.selectEffect(v, effect[1] === v ? null : effect[1])],
        ["Show an effect on it", () => this.selectEffect(effect[0] === v ? null : effect[0], v)],
      ].filter(Boolean),
    );
  }

  /** @param {number} a @param {number} b @param {Point} point */
  pairMenu(a, b, point) {
    const { bench } = this;
    this.open(point, `Forbidden between ${bench.names[a]} and ${bench.names[b]}`, [
      ["Allow all edges", () => bench.ask({ do: "allow", a, b }, [a, b])],
    ]);
  }

  /** @param {number} a @param {number | null} b */
  showData(a, b) {
    this.bench.dataQuery = { a, b, found: null };
    this.bench.setPanel("data");
  }

  // Show the bounds of an effect, or let the user choose its other end.
  /** @param {any} of @param {any} on */
  selectEffect(of, on) {
    const { bench } = this;
    bench.setPanel("effect");
    if (of === null || on === null) {
      bench.field(of === null ? "effect-on" : "effect-of").value = String(of === null ? on : of);
      bench.field(of === null ? "effect-of" : "effect-on").focus();
    } else bench.askEffect(of, on);
  }

  /** @param {Point} point @param {string} title @param {any[]} actions */
  open(point, title, actions) {
    const { bench, element } = this;
    this.returnTo = bench.focused();
    element.replaceChildren(
      make("p", {}, title),
      ...actions.map(([text, act, key]) =>
        make(
          "button",
          {
            type: "button",
            role: "menuitem",
            tabindex: -1,
            onclick: () => {
              this.close();
              act();
            },
          },
          text,
          key ? make("kbd", {}, key) : null,
        ),
      ),
    );
    element.setAttribute("aria-label", title);
    element.hidden = false;
    const frame = bench.element.getBoundingClientRect();
    const left = Math.min(point[0] - frame.left + 6, frame.width - element.offsetWidth - 8);
    const below = point[1] + element.offsetHeight + 20 < innerHeight;
    element.style.left = `${Math.max(8, left)}px`;
    element.style.top = `${Math.max(4, point[1] - frame.top + (below ? 10 : -element.offsetHeight - 10))}px`;
    element.querySelector("button").focus();
  }

  close() {
    if (this.element.hidden) return;
    const inside = this.element.contains(this.bench.focused());
    this.element.hidden = true;
    if (inside && this.returnTo?.isConnected) this.returnTo.focus();
  }

  // Handle a key inside the menu; return false for other keys.
  /** @param {any} given */
  onKey({ key }) {
    const items = [...this.element.querySelectorAll("button")],
      now = items.indexOf(this.bench.focused());
    /** @type {Record<string, number>} */
    const places = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: items.length - 1 };
    const to = places[key];
    if (to !== undefined) items[(to + items.length) % items.length].focus();
    else if (key === "Escape" || key === "Tab") this.close();
    else return false;
    return true;
  }
}
