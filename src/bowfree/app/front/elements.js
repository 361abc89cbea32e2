// @ts-check
// --- elements: creating elements, and formatting numbers ---
// Names of variables come from data: they are written as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// Create an element with attributes, listeners (on...) and children; strings become text nodes.
/** @param {string} tag @param {Record<string, any>} attributes @param {any[]} children @returns {any} */
function make(tag, attributes = {}, ...children) {
  const names = tag.split(":");
  const element =
    names.length > 1 ? document.createElementNS(SVG, names[1]) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const button = (text, onclick, more = {}) =>
  make("button", { type: "button", onclick, ...more }, text);

const MINUS = "\u2212";
/** @type {(x: any) => boolean} */
const missing = (x) => x === null || x === undefined;
const fixed = (x, digits) => (missing(x) ? "–" : x.toFixed(digits).replace("-", MINUS));
const signed = (x, digits) => (missing(x) ? "–" : (x < 0 ? "" : "+") + fixed(x, digits));

function significant(x, digits = 3) {
  if (missing(x)) return "–";
  if (x !== 0 && (Math.abs(x) < 1e-5 || Math.abs(x) >= 1e5)) {
    return x.toExponential(digits - 1).replace("-", MINUS);
  }
  const isLarge = Math.abs(x) >= 10 ** digits;
  return (isLarge ? x.toFixed(0) : x === 0 ? "0" : x.toPrecision(digits)).replace("-", MINUS);
}

const pText = (p) => (missing(p) ? "" : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);
const percent = (x) =>
  x > 0 && x < 0.005
    ? "< 1 %"
    : x < 1 && x >= 0.995
      ? "> 99 %"
      : `${Math.round(100 * x)} %`;
const counted = (n, word) =>
  `${typeof n === "number" ? n.toLocaleString("en") : n} ${word}${n === 1 ? "" : "s"}`;

/** @type {Record<string, string>} */
const ARROWS = { "->": "→", "<-": "←", "<->": "↔", "--": "—", "": "…" };
/** @type {Record<string, string>} */
const REVERSED = { "->": "<-", "<-": "->", "<->": "<->", "--": "--", "": "" };

function table(headings, rows, caption) {
  return make(
    "table",
    {},
    caption ? make("caption", {}, caption) : null,
    make(
      "thead",
      {},
      make(
        "tr",
        {},
        headings.map((text) => make("th", { scope: "col" }, text)),
      ),
    ),
    make(
      "tbody",
      {},
      rows.map((row) =>
        make(
          "tr",
          {},
          row.map((cell) =>
            cell instanceof Node ? make("td", {}, cell) : make("td", { class: "number" }, cell),
          ),
        ),
      ),
    ),
  );
}

function download(text, name, type) {
  const link = make("a", {
    href: URL.createObjectURL(new Blob([text], { type })),
    download: name,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
