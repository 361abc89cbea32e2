// --- errands: long work under way, and how it ended ---

class Errands {
  constructor(bench) {
    Object.assign(this, { bench, now: null, ended: null, wantsReport: false });
  }

  begin(errand) {
    this.now = errand;
    this.ended = null;
    this.bench.renderPanel();
  }

  set(errand) {
    const before = this.now;
    this.now = errand;
    const part = this.bench.field("progress");
    if (before && errand && part) part.replaceWith(this.progress());
    else this.bench.renderPanel(["search", "keep"]);
  }

  progress() {
    const { errand, progress, stopping } = this.now;
    const best =
      progress && !missing(progress.best_score)
        ? `, best score ${fixed(progress.best_score, 4)}`
        : "";
    const text = stopping
      ? "stopping …"
      : !progress
        ? `${errand} …`
        : `${progress.done} of ${progress.planned} ${progress.what}, ${progress.seconds.toFixed(0)} s${best}`;
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

  end(message) {
    this.now = null;
    this.ended = message;
    this.bench.say(`${message.errand}: ${message.said}`);
    if (message.errand === "report" && this.wantsReport) {
      this.wantsReport = false;
      if (!message.failed)
        this.bench.transport.ask({ do: "written" }).then((answer) => {
          if (answer.file) download(answer.file, answer.name, "text/html");
        });
    }
    this.bench.renderPanel(["search", "keep"]);
  }

  async report() {
    this.wantsReport = true;
    this.bench.say("Writing the report …");
    const answer = await this.bench.ask({ do: "report" });
    if (answer.error) this.wantsReport = false;
  }
}
