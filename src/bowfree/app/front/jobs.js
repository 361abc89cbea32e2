// @ts-check
// --- jobs: the running search, bootstrap, average or report, and how the last one ended ---

class Jobs {
  /** @type {Workbench} */ bench;
  /** @type {Job | null} */ current = null;
  /** @type {any} */ ended = null; // the message of the last end
  lastEnded = 0;
  wantsReport = false;
  usesBest = false;

  /** @param {Workbench} bench */
  constructor(bench) {
    this.bench = bench;
  }

  // Show the state of a session that was just opened; its jobs are numbered anew.
  /** @param {Job | null} job */
  reset(job) {
    Object.assign(this, { current: job, lastEnded: 0 });
  }

  // An answer may arrive after the message that its job has ended.
  /** @param {Job | null} job */
  isOutdated(job) {
    return job && job.number <= this.lastEnded;
  }

  /** @param {Job | null} job */
  start(job) {
    if (this.isOutdated(job)) return;
    this.current = job;
    this.ended = null;
    this.bench.renderPanel();
  }

  /** @param {Job | null} job */
  update(job) {
    if (this.isOutdated(job)) return;
    const before = this.current;
    this.current = job;
    const part = this.bench.field("progress");
    if (before && job && part) part.replaceWith(this.progress());
    else this.bench.renderPanel(["search", "files"]);
  }

  progress() {
    if (!this.current) return null;
    const { kind, progress, stopping } = this.current;
    const best =
      progress && !missing(progress.best_score) ? `, best score ${fixed(progress.best_score, 4)}` : "";
    const text = stopping
      ? "stopping …"
      : !progress
        ? `${kind} …`
        : `${progress.done} of ${progress.planned} ${progress.what}, ${progress.seconds.toFixed(0)} s${best}`;
    return make(
      "div",
      { class: "progress", "data-field": "progress" },
      make(
        "progress",
        progress?.planned
          ? { max: progress.planned, value: progress.done, "aria-label": kind }
          : { "aria-label": kind },
      ),
      make("span", {}, text),
    );
  }

  /** @param {any} message */
  end(message) {
    this.current = null;
    this.lastEnded = message.number;
    this.ended = message;
    this.bench.say(`${message.job}: ${message.text}`);
    if (message.job === "report" && this.wantsReport) {
      this.wantsReport = false;
      if (!message.failed)
        this.bench.transport.ask({ do: "report_file" }).then((answer) => {
          if (answer.file) download(answer.file, answer.name, "text/html");
        });
    }
    if (message.job === "search" && this.usesBest && !message.failed) this.bench.useBest();
    if (message.job === "search") this.usesBest = false;
    this.bench.renderSummary();
    this.bench.renderPanel(["search", "files"]);
  }

  async report() {
    this.wantsReport = true;
    this.bench.say("Writing the report …");
    const answer = await this.bench.ask({ do: "report" });
    if (answer.error) this.wantsReport = false;
  }
}
