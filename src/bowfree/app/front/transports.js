// --- transports: how messages travel ---
// Both have ask(message), a promise of the answer; listen(hear, alive), for what comes by itself and
// for whether anybody is there; close(); and `lost`, what to say when nobody is.

// To the server of `bowfree app`: questions by POST, news by server-sent events.
class ServerTransport {
  constructor(base) {
    this.base = base;
    this.lost =
      "The server does not answer: `bowfree app` has ended. What is drawn stays in sight, but " +
      "cannot be changed; start it again for a new page.";
  }

  async ask(message) {
    const response = await fetch(`${this.base}do`, {
      method: "POST",
      body: JSON.stringify(message),
      headers: { "Content-Type": "application/json" },
    });
    if (!response.ok) throw new Error(`${response.status}`);
    return response.json();
  }

  listen(hear, alive) {
    const events = (this.events = new EventSource(`${this.base}events`));
    events.onopen = () => alive(true);
    events.onerror = () => {
      alive(false);
      // The browser tries again by itself, unless the server answered with a refusal.
      if (events.readyState === EventSource.CLOSED)
        setTimeout(() => this.listen(hear, alive), 2000);
    };
    events.onmessage = (event) => hear(JSON.parse(event.data));
  }

  close() {
    this.events.close();
  }
}

// To a notebook's kernel, by the messages of anywidget.
class WidgetTransport {
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    this.lost = "The kernel does not answer: run the cell again.";
    this.number = 0;
    this.own = Math.random().toString(36).slice(2); // one widget may be shown in several cells
  }

  ask(message) {
    const id = `${this.own}-${++this.number}`;
    this.model.send({ ...message, id });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  listen(hear, alive) {
    this.receive = (message) => {
      if (message.re === undefined) hear(message);
      else if (this.waiting.has(message.re)) {
        this.waiting.get(message.re)(message);
        this.waiting.delete(message.re);
      }
    };
    this.model.on("msg:custom", this.receive);
    queueMicrotask(() => alive(true));
  }

  close() {
    this.model.off("msg:custom", this.receive);
  }
}

export function open(root, base) {
  return new Workbench(root, new ServerTransport(base));
}

export default {
  render({ model, el }) {
    const bench = new Workbench(el, new WidgetTransport(model));
    bench.element.classList.add("in-cell");
    // Notebooks have commands on plain keys: what is pressed in here is meant for here.
    bench.element.addEventListener("keydown", (event) => event.stopPropagation());
    return () => bench.close();
  },
};
