// Interaction of the report: tooltips, dragging, filters, zoom, sortable tables, themes.
// Names of variables come from data: they are written as text, never as markup.
(() => {
  "use strict";
  const byId = (id) => document.getElementById(id);
  const view = JSON.parse(byId("view-data").textContent);
  const picture = byId("picture"), tip = byId("tip"), figure = picture.closest("figure");
  const edges = [...document.querySelectorAll("#lines .edge")];
  const labels = [...document.querySelectorAll("#labels .weight")];
  const nodes = [...document.querySelectorAll("#nodes .node")];
  for (const part of document.querySelectorAll(".scripted")) part.hidden = false;

  // --- edges, drawn with the functions of curves.js, which precede this script ---
  let layout, centers;  // the layout in use, and the current centers of the nodes
  const moved = new Set();  // nodes that are not where the layout has them
  let held = null, grip = [0, 0];  // the node being dragged, and the offset of the pointer in it

  function drawEdge(k, spot) {
    const { a, b, kind, ends } = view.edges[k];
    const points = !moved.has(a) && !moved.has(b) ? layout.curves[k]
      : clipped(fullCurve(centers[a], centers[b], layout.bends[k]),
        [a, b].map((v) => [centers[v], view.sizes[v]]));
    for (const part of [edges[k], labels[k]]) part.style.visibility = points ? "" : "hidden";
    if (!points) return;
    const own = kind === "directed" ? ["tail", "head"] : ["head", "head"];
    const marks = byId("show-marks").checked ? ends : own;
    edges[k].classList.toggle("varying", marks.includes("circle"));
    const drawn = edgeShape(points, marks);
    const [touch, line, ...heads] = edges[k].querySelectorAll("path");
    touch.setAttribute("d", drawn.line);
    line.setAttribute("d", drawn.line);
    edges[k].querySelectorAll("circle").forEach((circle, side) => {
      const center = drawn.circles[side];
      heads[side].setAttribute("d", drawn.heads[side]);
      circle.setAttribute("visibility", center ? "visible" : "hidden");
      if (!center) return;
      circle.setAttribute("cx", center[0].toFixed(1));
      circle.setAttribute("cy", center[1].toFixed(1));
    });
    labels[k].setAttribute("transform", `translate(${xy(spot || at(points, 0.5))})`);
  }

  function drawAll(spots) {
    nodes.forEach((node, v) => node.setAttribute("transform", `translate(${xy(centers[v])})`));
    edges.forEach((_, k) => drawEdge(k, spots && spots[k]));
  }

  function moveNode(v, x, y) {
    const [left, top, width, height] = layout.frame, [w, h] = view.sizes[v];
    centers[v] = [
      Math.min(Math.max(x, left + w / 2), left + width - w / 2),
      Math.min(Math.max(y, top + h / 2), top + height - h / 2)];
    moved.add(v);
    nodes[v].setAttribute("transform", `translate(${xy(centers[v])})`);
    view.edges.forEach(({ a, b }, k) => { if (a === v || b === v) drawEdge(k); });
  }

  const moduleOf = nodes.map((_, v) => view.modules.findIndex((group) => group.includes(v)));

  // Backgrounds of the modules; edges between modules are pale.
  function drawRegions() {
    byId("regions").replaceChildren(...layout.regions.map(([x, y, width, height], k) => {
      const region = document.createElementNS(picture.namespaceURI, "rect");
      const attributes = { class: "region", x, y, width, height, rx: 14 };
      for (const [name, value] of Object.entries(attributes)) region.setAttribute(name, value);
      region.style.setProperty("--module", view.colors[k % view.colors.length]);
      return region;
    }));
    view.edges.forEach(({ a, b }, k) => {
      const pale = layout.regions.length > 0 && moduleOf[a] !== moduleOf[b];
      for (const part of [edges[k], labels[k]]) part.classList.toggle("between", pale);
    });
  }

  function useLayout(name) {
    layout = view.layouts[name];
    centers = layout.centers.map((center) => [...center]);
    moved.clear();
    picture.setAttribute("viewBox", layout.frame.join(" "));
    drawRegions();
    drawAll(layout.spots);
    fitPicture();
  }

  // --- zoom: as large as the window permits, with readable names ---
  const READABLE = 0.75, LARGEST = 4;  // relative to the natural font size
  let scale = 1;

  function usePictureScale(wanted) {
    const [, , width, height] = layout.frame, pan = picture.parentElement;
    const middle = [
      (pan.scrollLeft + pan.clientWidth / 2) / (scale * width),
      (pan.scrollTop + pan.clientHeight / 2) / (scale * height)];
    scale = Math.min(Math.max(wanted, 0.1), LARGEST);
    picture.style.maxWidth = "none";  // set by the page for readers without scripts
    picture.style.width = `${Math.round(scale * width)}px`;
    picture.style.height = `${Math.round(scale * height)}px`;
    pan.scrollLeft = middle[0] * scale * width - pan.clientWidth / 2;
    pan.scrollTop = middle[1] * scale * height - pan.clientHeight / 2;
  }

  function fitPicture(least = READABLE) {
    const [, , width, height] = layout.frame;
    const whole = Math.min(1.25, figure.clientWidth / width, 0.85 * innerHeight / height);
    usePictureScale(Math.max(whole, least));
  }
  byId("larger").addEventListener("click", () => usePictureScale(1.25 * scale));
  byId("smaller").addEventListener("click", () => usePictureScale(scale / 1.25));
  byId("whole").addEventListener("click", () => fitPicture(0));
  addEventListener("resize", () => fitPicture());

  for (const button of document.querySelectorAll("[data-picture]")) {
    button.addEventListener("click", () => {
      const shown = byId("shown").classList.contains("partial") ? [byId("shown").firstChild.data] : [];
      const text = pictureText(picture, [byId("caption").textContent, ...shown],
        getComputedStyle(document.body).backgroundColor);
      savePicture(text, button.dataset.picture, "graph");
    });
  }
  byId("print").addEventListener("click", () => print());

  // --- tooltips, for pointer and keyboard ---
  function showTip(lines, element, event) {
    tip.replaceChildren();
    lines.forEach((line, k) => {
      const part = document.createElement(k ? "span" : "b");
      part.textContent = line;
      tip.append(part);
    });
    tip.hidden = false;
    const frame = figure.getBoundingClientRect(), box = element.getBoundingClientRect();
    const x = event ? event.clientX : (box.left + box.right) / 2;
    const y = event ? event.clientY : (box.top + box.bottom) / 2;
    const left = Math.min(x - frame.left + 14, frame.width - tip.offsetWidth - 4);
    const above = y - frame.top - tip.offsetHeight - 12;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${above < 4 ? y - frame.top + 18 : above}px`;
  }

  function highlight(chosenEdges, chosenNodes) {
    picture.classList.add("dimmed");
    chosenEdges.forEach((k) => { edges[k].classList.add("lit"); labels[k].classList.add("lit"); });
    chosenNodes.forEach((v) => nodes[v].classList.add("lit"));
  }

  function leave() {
    tip.hidden = true;
    picture.classList.remove("dimmed");
    for (const part of picture.querySelectorAll(".lit")) part.classList.remove("lit");
  }

  function enterEdge(k, event) {
    leave();
    highlight([k], [view.edges[k].a, view.edges[k].b]);
    showTip(view.edges[k].tip, edges[k], event);
  }

  function enterNode(v, event) {
    leave();
    const touching = [];
    view.edges.forEach(({ a, b }, k) => { if (a === v || b === v) touching.push(k); });
    const near = touching.flatMap((k) => [view.edges[k].a, view.edges[k].b]);
    highlight(touching, [v, ...near]);
    const label = nodes[v].getAttribute("aria-label"), name = nodes[v].textContent;
    showTip([name, label.slice(name.length + 2)], nodes[v], event);
  }

  for (const [parts, enter] of [[edges, enterEdge], [nodes, enterNode]]) {
    parts.forEach((part, k) => {
      part.addEventListener("pointerenter", (event) => { if (held === null) enter(k, event); });
      part.addEventListener("pointerleave", leave);
      part.addEventListener("focus", () => { if (part.matches(":focus-visible")) enter(k); });
      part.addEventListener("blur", leave);
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") leave(); });

  // --- moving nodes ---
  const toPicture = (event) => {
    const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(
      picture.getScreenCTM().inverse());
    return [place.x, place.y];
  };
  nodes.forEach((node, v) => {
    node.addEventListener("pointerdown", (event) => {
      const place = toPicture(event);
      held = v;
      grip = [centers[v][0] - place[0], centers[v][1] - place[1]];
      node.setPointerCapture(event.pointerId);
      node.classList.add("held");
      tip.hidden = true;
    });
    node.addEventListener("pointermove", (event) => {
      if (held !== v) return;
      const place = toPicture(event);
      moveNode(v, place[0] + grip[0], place[1] + grip[1]);
    });
    const drop = () => { held = null; node.classList.remove("held"); };
    node.addEventListener("pointerup", drop);
    node.addEventListener("pointercancel", drop);
    node.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: [-8, 0], ArrowRight: [8, 0], ArrowUp: [0, -8], ArrowDown: [0, 8] };
      if (!(event.key in step)) return;
      event.preventDefault();
      moveNode(v, centers[v][0] + step[event.key][0], centers[v][1] + step[event.key][1]);
    });
  });

  // --- filters ---
  function filter() {
    const least = Number(byId("strength").value), [first, number] = byId("around").value.split(" ");
    const all = first === "-1";
    const center = new Set(first === "module" ? view.modules[Number(number)] : [Number(first)]);
    const near = new Set(center);
    let count = 0;
    view.edges.forEach(({ a, b, kind, strength }, k) => {
      const touching = all || center.has(a) || center.has(b);
      const shown = byId(`show-${kind}`).checked && strength >= least && touching;
      if (shown) near.add(a).add(b);
      edges[k].classList.toggle("filtered", !shown);
      labels[k].classList.toggle("filtered", !shown);
      count += shown;
    });
    nodes.forEach((node, v) => node.classList.toggle("filtered", !all && !near.has(v)));
    byId("strength-value").textContent = least.toFixed(2);
    const shown = byId("shown"), partial = count < edges.length;
    shown.classList.toggle("partial", partial);
    shown.textContent = !partial ? `All ${count} edges are drawn.`
      : `Only ${count} of ${edges.length} edges are drawn${least ? `: those with a standardized estimate of at least ${least.toFixed(2)}` : ""}.`;
    if (partial) {
      const all = document.createElement("button");
      all.type = "button";
      all.className = "scripted";
      all.textContent = "Draw all";
      all.addEventListener("click", () => {
        for (const id of ["show-directed", "show-bidirected"]) byId(id).checked = true;
        byId("strength").value = 0;
        byId("around").value = "-1";
        filter();
      });
      shown.append(all);
    }
  }
  for (const id of ["show-directed", "show-bidirected", "strength", "around"]) {
    byId(id).addEventListener("input", filter);
  }
  byId("show-weights").addEventListener("input", (event) => {
    picture.classList.toggle("weights", event.target.checked);
  });
  byId("show-marks").addEventListener("input", (event) => {
    picture.classList.toggle("marks", event.target.checked);
    edges.forEach((_, k) => {
      const old = labels[k].getAttribute("transform").match(/-?[\d.]+/g).map(Number);
      drawEdge(k, old);
    });
  });
  byId("layout").addEventListener("input", (event) => useLayout(event.target.value));
  byId("restore").addEventListener("click", () => {
    const weights = byId("show-weights").defaultChecked;
    byId("controls").reset();
    picture.classList.toggle("weights", weights);
    picture.classList.remove("marks");
    useLayout(byId("layout").value);
    filter();
  });
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("controls").reset();  // browsers may restore the controls of an earlier visit
  layout = view.layouts[byId("layout").value];
  centers = layout.centers.map((center) => [...center]);
  drawRegions();
  filter();
  fitPicture();

  // --- tables ---
  const collator = new Intl.Collator(undefined, { numeric: true });
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
    headings.forEach((heading, column) => {
      const sample = body.rows[0].cells[column];
      const numeric = Boolean(sample && sample.dataset.value !== undefined);
      heading.classList.toggle("numeric", numeric);
      heading.firstElementChild.addEventListener("click", () => {
        const before = heading.getAttribute("aria-sort");
        // The first click sorts numbers in descending and names in ascending order.
        const rising = before === "none" ? !numeric : before === "descending";
        for (const other of headings) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const key = (row) => {
          const cell = row.cells[column];
          return numeric ? Number(cell.dataset.value) : cell.textContent;
        };
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort(([x], [y]) => {
          if (!numeric) return rising ? collator.compare(x, y) : collator.compare(y, x);
          // NaN is last in both orders.
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
          return rising ? x - y : y - x;
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }
  for (const input of document.querySelectorAll(".finder input")) {
    const body = byId(input.dataset.table).tBodies[0];
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }

  // --- themes and download ---
  const theme = byId("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : dark.matches;
  };
  const nameTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark()));
    theme.setAttribute("aria-label", `Use the ${isDark() ? "light" : "dark"} theme`);
  };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  dark.addEventListener("change", nameTheme);
  nameTheme();

  byId("download").addEventListener("click", () => {
    const text = JSON.stringify(JSON.parse(byId("result-data").textContent), null, 2);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "bowfree.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
})();
