// @ts-check
// --- theme: light or dark ---
// The choice of the user; without one, that of the notebook or the system.

class Theme {
  /** @type {string | null} */ chosen = null;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.button = button("", () => this.toggle(), { class: "theme" });
    this.system = matchMedia("(prefers-color-scheme: dark)");
    this.follow = () => this.show();
    this.system.addEventListener("change", this.follow);
    this.watch = new MutationObserver(this.follow);
    for (const part of [document.documentElement, document.body]) {
      this.watch.observe(part, {
        attributeFilter: ["class", "data-jp-theme-light", "data-vscode-theme-kind"],
      });
    }
    this.show();
  }

  isDark() {
    if (this.chosen) return this.chosen === "dark";
    const { dataset, classList } = document.body;
    if (dataset.jpThemeLight) return dataset.jpThemeLight === "false"; // JupyterLab
    if (dataset.vscodeThemeKind) return !dataset.vscodeThemeKind.endsWith("light"); // VS Code
    const named = ["dark", "light"].find(
      (name) => classList.contains(name) || document.documentElement.classList.contains(name),
    ); // marimo
    return named ? named === "dark" : this.system.matches;
  }

  toggle() {
    this.chosen = this.isDark() ? "light" : "dark";
    this.show();
  }

  show() {
    const dark = this.isDark();
    this.element.dataset.theme = dark ? "dark" : "light";
    this.button.textContent = dark ? "Light" : "Dark";
    this.button.setAttribute("aria-label", `Use the ${dark ? "light" : "dark"} theme`);
  }

  close() {
    this.watch.disconnect();
    this.system.removeEventListener("change", this.follow);
  }
}
