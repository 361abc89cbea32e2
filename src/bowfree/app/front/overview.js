// @ts-check
// --- overview: a map of a large graph, with the visible part; a click or a drag moves there ---

const MAP_FROM = 40; // variables

class Overview {
  /** @param {GraphView} view */
  constructor(view) {
    this.view = view;
    this.boxes = make("svg:path", { class: "boxes" });
    this.window = make("svg:rect", { class: "window" });
    this.element = make("svg:svg", { class: "overview", "aria-hidden": "true" }, this.boxes, this.window);
    /** @type {(event: any) => any} */
    const go = (event) => {
      if (event.buttons !== 1) return;
      const point = new DOMPoint(event.clientX, event.clientY);
      const { x, y } = point.matrixTransform(this.element.getScreenCTM().inverse());
      const { pan, scale, origin } = view;
      pan.scrollLeft = scale * (x - origin[0]) - pan.clientWidth / 2;
      pan.scrollTop = scale * (y - origin[1]) - pan.clientHeight / 2;
    };
    for (const kind of ["pointerdown", "pointermove"]) on(this.element, kind, go);
    view.pan.addEventListener("scroll", () => this.update());
  }

  // Draw the boxes; the map is hidden while everything is visible.
  update() {
    const { view } = this,
      { pan, scale, origin, svg } = view;
    const whole = pan.scrollWidth <= pan.clientWidth + 4 && pan.scrollHeight <= pan.clientHeight + 4;
    this.element.style.visibility = whole || !scale ? "hidden" : "";
    if (whole || !scale) return;
    this.element.setAttribute("viewBox", svg.getAttribute("viewBox"));
    const path = view.centers.map(([x, y], v) => {
      const [w, h] = view.sizes[v];
      return `M${(x - w / 2).toFixed(0)},${(y - h / 2).toFixed(0)} h${w} v${h} h${-w} Z`;
    });
    this.boxes.setAttribute("d", path.join(" "));
    const place = [origin[0] + pan.scrollLeft / scale, origin[1] + pan.scrollTop / scale];
    const size = [pan.clientWidth / scale, pan.clientHeight / scale];
    ["x", "y"].forEach((name, k) => this.window.setAttribute(name, place[k]));
    ["width", "height"].forEach((name, k) => this.window.setAttribute(name, size[k]));
  }
}
