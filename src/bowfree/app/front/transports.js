// @ts-check
// --- transports: exchange of messages with the session ---
// Both have ask(message), a promise of the answer; listen(receive, connected), callbacks for messages
// of the session and for the state of the connection; close(); and `lost`, the text when it is lost.

// The server of `bowfree app`: POST requests and server-sent events.
class ServerTransport {
  /** @type {EventSource} */ events;

  /** @param {string} base */
  constructor(base) {
    this.base = base;
    this.lost =
      "The server does not answer: `bowfree app` has ended. The graph stays visible, but cannot be " +
      "changed. Start `bowfree app` again for a new page.";
  }

  /** @param {any} message */
  async ask(message) {
    const response = await fetch(`${this.base}do`, {
      method: "POST",
      body: JSON.stringify(message),
      headers: { "Content-Type": "application/json" },
    });
    if (!response.ok) throw new Error(`${response.status}`);
    return response.json();
  }

  /** @param {(message: any) => void} receive @param {(connected: boolean) => void} connected */
  listen(receive, connected) {
    const events = new EventSource(`${this.base}events`);
    this.events = events;
    events.onopen = () => connected(true);
    events.onerror = () => {
      connected(false);
      // The browser reconnects by itself, unless the server refused the request.
      if (events.readyState === EventSource.CLOSED) setTimeout(() => this.listen(receive, connected), 2000);
    };
    events.onmessage = (event) => receive(JSON.parse(event.data));
  }

  close() {
    this.events.close();
  }
}

// The kernel of a notebook, with the messages of anywidget.
class WidgetTransport {
  /** @param {any} model */
  constructor(model) {
    this.model = model;
    this.waiting = new Map();
    this.lost = "The kernel does not answer: run the cell again.";
    this.number = 0;
    this.prefix = Math.random().toString(36).slice(2); // a widget may be shown in several cells
  }

  /** @param {any} message */
  ask(message) {
    const id = `${this.prefix}-${++this.number}`;
    this.model.send({ ...message, id });
    return new Promise((resolve) => this.waiting.set(id, resolve));
  }

  /** @param {(message: any) => void} receive @param {(connected: boolean) => void} connected */
  listen(receive, connected) {
    /** @param {any} message */
    this.receive = (message) => {
      if (message.reply_to === undefined) receive(message);
      else if (this.waiting.has(message.reply_to)) {
        this.waiting.get(message.reply_to)(message);
        this.waiting.delete(message.reply_to);
      }
    };
    this.model.on("msg:custom", this.receive);
    queueMicrotask(() => connected(true));
  }

  close() {
    this.model.off("msg:custom", this.receive);
  }
}

// A page without a session: answers that were recorded, by message, with the messages after them.
class RecordedTransport {
  lost = "";
  hint = "A recorded session: Next, Class, Effect, Test and Compare answer; edits need an installation.";
  /** @type {(message: any) => void} */ receive;

  /** @param {Record<string, any[]>} recording */
  constructor(recording) {
    this.recording = recording;
  }

  /** @param {Record<string, any>} message */
  async ask(message) {
    const found = this.recording[JSON.stringify(message, Object.keys(message).sort())];
    if (!found)
      return {
        error:
          "This page is a recording, without the data. To do this, install bowfree " +
          '(pip install "bowfree[app]") and run: bowfree app data.csv',
      };
    const [answer, ...events] = structuredClone(found);
    for (const event of events) setTimeout(() => this.receive(event));
    return answer;
  }

  /** @param {(message: any) => void} receive @param {(connected: boolean) => void} connected */
  listen(receive, connected) {
    this.receive = receive;
    queueMicrotask(() => connected(true));
  }

  close() {}
}

/** @param {Document} page */
export function openRecorded(page) {
  const recording = page.querySelector("script[type='application/json']");
  return new Workbench(page.body, new RecordedTransport(JSON.parse(recording?.textContent || "{}")));
}

/** @param {HTMLElement} root @param {string} base */
export function open(root, base) {
  return new Workbench(root, new ServerTransport(base));
}

export default {
  /** @param {any} given */
  render({ model, el }) {
    const bench = new Workbench(el, new WidgetTransport(model));
    bench.element.classList.add("in-cell");
    // Notebooks have shortcuts on plain keys, which must not react to keys pressed here.
    on(bench.element, "keydown", (event) => event.stopPropagation());
    return () => bench.close();
  },
};
