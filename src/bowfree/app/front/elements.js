// @ts-check
// --- elements: creating elements, and formatting numbers ---
// Names of variables come from data: they are written as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

// Create an element with attributes, listeners (on...) and children; strings become text nodes.
/** @param {string} tag @param {Attributes} attributes @param {any[]} children @returns {any} */
function make(tag, attributes = {}, ...children) {
  const names = tag.split(":");
  const element = names.length > 1 ? document.createElementNS(SVG, names[1]) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// Listen to events of an element.
/** @param {any} element @param {string} kind @param {(event: any) => void} act @param {object} [options] */
function on(element, kind, act, options) {
  element.addEventListener(kind, act, options);
}

/** @type {(text: string, onclick: () => any, more?: Attributes) => any} */
const button = (text, onclick, more = {}) => make("button", { type: "button", onclick, ...more }, text);

// A paragraph: "hint", "problem", "verdict", "actions" or "key".
/** @type {(kind: string, ...children: any[]) => any} */
const note = (kind, ...children) => make("p", { class: kind }, ...children);

const MINUS = "\u2212";
/** @type {(x: any) => boolean} */
const missing = (x) => x === null || x === undefined;
/** @type {(x: any, digits: number) => string} */
const fixed = (x, digits) => (missing(x) ? "–" : x.toFixed(digits).replace("-", MINUS));
/** @type {(x: any, digits: number) => string} */
const signed = (x, digits) => (missing(x) ? "–" : (x < 0 ? "" : "+") + fixed(x, digits));

/** @param {any} x */
function significant(x, digits = 3) {
  if (missing(x)) return "–";
  if (x !== 0 && (Math.abs(x) < 1e-5 || Math.abs(x) >= 1e5)) {
    return x.toExponential(digits - 1).replace("-", MINUS);
  }
  const isLarge = Math.abs(x) >= 10 ** digits;
  return (isLarge ? x.toFixed(0) : x === 0 ? "0" : x.toPrecision(digits)).replace("-", MINUS);
}

/** @type {(p: any) => string} */
const pText = (p) => (missing(p) ? "" : p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);
/** @type {(x: any) => string} */
const percent = (x) =>
  x > 0 && x < 0.005 ? "< 1 %" : x < 1 && x >= 0.995 ? "> 99 %" : `${Math.round(100 * x)} %`;
/** @type {(n: number | string, word: string) => string} */
const counted = (n, word) =>
  `${typeof n === "number" ? n.toLocaleString("en") : n} ${word}${n === 1 ? "" : "s"}`;

/** @type {Record<string, string>} */
const ARROWS = { "->": "→", "<-": "←", "<->": "↔", "--": "—", "": "…" };
/** @type {Record<string, string>} */
const REVERSED = { "->": "<-", "<-": "->", "<->": "<->", "--": "--", "": "" };

/** @param {string[]} headings @param {any[][]} rows */
function table(headings, rows) {
  return make(
    "table",
    {},
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

/** @param {string} text @param {string} name @param {string} type */
function download(text, name, type) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
