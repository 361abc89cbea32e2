// @ts-check
// --- curves: draws edges as bowfree.visualization.svg does, for pages whose nodes can be moved ---
// A curve is a chain of quadratic curves: start, control point, joint, control point, ..., end.
// bowfree.visualization.routing chooses it; only while a box moves, its edges are drawn with their
// old bend. Part of the script of the report and of the module of the workbench.

const GAP = 2,
  HEAD_LENGTH = 9,
  HEAD_WIDTH = 7,
  RADIUS = 3.6;

// The point of a chain at t from 0 to 1; the share of a curve is that of its chord.
/** @param {any[]} p @param {number} t @returns {any} */
function at(p, t) {
  const chords = [];
  for (let k = 2; k < p.length; k += 2) chords.push(Math.hypot(p[k][0] - p[k - 2][0], p[k][1] - p[k - 2][1]));
  let left = t * chords.reduce((sum, chord) => sum + chord, 0),
    k = 0;
  while (k < chords.length - 1 && left > chords[k]) left -= chords[k++];
  const w = left / Math.max(chords[k], 1e-9),
    [a, b, c] = p.slice(2 * k, 2 * k + 3);
  return [0, 1].map((x) => (1 - w) * (1 - w) * a[x] + 2 * w * (1 - w) * b[x] + w * w * c[x]);
}
/** @type {(p: number[]) => any} */
const xy = (p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`;

// --- pictures ---

const STYLES =
  "fill stroke stroke-width stroke-dasharray stroke-opacity opacity font-size font-family font-weight text-anchor visibility display".split(
    " ",
  );

// A drawing on the page as the text of an SVG file, with its colors and a caption below.
/** @param {any} svg @param {string[]} caption @param {string} background */
function pictureText(svg, caption, background) {
  const copy = svg.cloneNode(true),
    [originals, copies] = [svg, copy].map((root) => [...root.querySelectorAll("*")]);
  originals.forEach((element, k) => {
    const style = getComputedStyle(element);
    copies[k].removeAttribute("class");
    if (style.display === "none" || style.visibility === "hidden" || element.matches(".touch, .ghosts"))
      copies[k].dataset.drop = "";
    else for (const name of STYLES) copies[k].style.setProperty(name, style.getPropertyValue(name));
  });
  for (const element of copy.querySelectorAll("[data-drop]")) element.remove();
  const [x, y, width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
  const wide = Math.max(width, 420),
    left = x - (wide - width) / 2,
    style = getComputedStyle(svg),
    lines = caption.flatMap((line) => brokenLines(line, Math.floor(wide / 6.2)));
  /** @type {(name: string, attributes: Attributes, text?: string) => any} */
  const make = (name, attributes, text = "") => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  };
  const tall = height + 17 * lines.length + 12;
  for (const name of ["class", "style", "id"]) copy.removeAttribute(name);
  copy.setAttribute("viewBox", [left, y, wide, tall].join(" "));
  copy.setAttribute("width", Math.round(wide));
  copy.setAttribute("height", Math.round(tall));
  copy.prepend(make("rect", { x: left, y, width: wide, height: tall, fill: background }));
  lines.forEach((line, k) =>
    copy.append(
      make(
        "text",
        {
          x: left + 14,
          y: y + height + 17 * (k + 1) - 4,
          fill: style.color,
          "font-size": 12,
          "font-family": "Helvetica, Arial, sans-serif",
          "text-anchor": "start",
        },
        line,
      ),
    ),
  );
  return new XMLSerializer().serializeToString(copy);
}

// Lines of at most so many letters.
/** @param {string} text @param {number} most */
function brokenLines(text, most) {
  const lines = [""];
  for (const word of text.split(" ")) {
    if (lines[lines.length - 1].length + word.length >= most) lines.push("");
    lines[lines.length - 1] += (lines[lines.length - 1] ? " " : "") + word;
  }
  return lines;
}

// Save a drawing as "svg" or, at twice its size, as "png".
/** @param {string} text @param {string} kind @param {string} name */
async function savePicture(text, kind, name) {
  const link = document.createElement("a");
  link.href = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  if (kind === "png") {
    const image = new Image();
    image.src = link.href;
    await image.decode();
    const canvas = document.createElement("canvas"),
      scale = Math.min(2, 8000 / Math.max(image.width, image.height));
    [canvas.width, canvas.height] = [scale * image.width, scale * image.height];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    link.href = canvas.toDataURL("image/png");
  }
  link.download = `${name}.${kind}`;
  link.click();
}

// --- geometry ---

// Signed distance of a point from a box; negative inside.
/** @param {Point} point @param {number[]} center @param {number[]} size */
function boxDistance(point, center, size) {
  const r = size[1] / 2;
  const x = Math.abs(point[0] - center[0]) - size[0] / 2 + r;
  const y = Math.abs(point[1] - center[1]) - size[1] / 2 + r;
  return Math.hypot(Math.max(x, 0), Math.max(y, 0)) + Math.min(Math.max(x, y), 0) - r;
}

/** @param {number[]} p @param {number[]} q @param {number} bend */
function fullCurve(p, q, bend) {
  const chord = [q[0] - p[0], q[1] - p[1]];
  return [p, [(p[0] + q[0]) / 2 + 2 * bend * chord[1], (p[1] + q[1]) / 2 - 2 * bend * chord[0]], q];
}

/** @type {(points: Point[]) => any} */
const curvePath = (points) => {
  const parts = [`M${xy(points[0])}`];
  for (let k = 1; k < points.length; k += 2) parts.push(`Q${xy(points[k])} ${xy(points[k + 1])}`);
  return parts.join(" ");
};

// The part of a single curve between two boxes; null if they touch.
/** @param {any} curve @param {any[]} ends */
function clipped(curve, ends) {
  const steps = 120;
  /** @type {(t: number) => any} */
  const free = (t) => ends.every(([center, size]) => boxDistance(at(curve, t), center, size) >= GAP);
  let first = 0,
    last = steps;
  while (first <= steps && !free(first / steps)) first++;
  while (last >= 0 && !free(last / steps)) last--;
  if (first >= last) return null;
  // A step of a long curve is longer than an arrowhead: bisect to find the border.
  /** @type {(outside: number, inside: number) => any} */
  const border = (outside, inside) => {
    for (let k = 0; k < 5; k++) {
      const half = (outside + inside) / 2;
      if (free(half)) outside = half;
      else inside = half;
    }
    return outside;
  };
  const s = first ? border(first / steps, (first - 1) / steps) : 0;
  const t = last < steps ? border(last / steps, (last + 1) / steps) : 1,
    [p, middle, q] = curve;
  const control = [0, 1].map(
    (c) => (1 - s) * (1 - t) * p[c] + ((1 - s) * t + s * (1 - t)) * middle[c] + s * t * q[c],
  );
  return [at(curve, s), control, at(curve, t)];
}

// The marks at both ends (heads as paths, circles as centers) and the line between them.
/** @param {Point[]} points @param {string[]} marks */
function edgeShape(points, marks) {
  const heads = ["", ""];
  /** @type {(number[] | null)[]} */
  const circles = [null, null];
  const last = points.length - 1;
  const tips = [
    [points[0], points[1]],
    [points[last], points[last - 1]],
  ].map(([tip, inner], side) => {
    const dx = tip[0] - inner[0],
      dy = tip[1] - inner[1];
    const length = Math.hypot(dx, dy) || 1,
      u = [dx / length, dy / length];
    /** @type {(s: number) => any} */
    const back = (s) => [tip[0] - s * u[0], tip[1] - s * u[1]];
    if (marks[side] === "head") {
      const base = back(HEAD_LENGTH),
        across = [(-u[1] * HEAD_WIDTH) / 2, (u[0] * HEAD_WIDTH) / 2];
      const corners = [
        tip,
        [base[0] + across[0], base[1] + across[1]],
        [base[0] - across[0], base[1] - across[1]],
      ];
      heads[side] = `M${corners.map(xy).join(" L")} Z`;
      return back(0.8 * HEAD_LENGTH);
    }
    if (marks[side] === "circle") {
      circles[side] = back(RADIUS);
      return back(2 * RADIUS);
    }
    return tip;
  });
  return { heads, circles, line: curvePath([tips[0], ...points.slice(1, -1), tips[1]]) };
}
