// --- geometry: boxes with round ends, and curves around them ---
// As bowfree.pictures draws: quadratic curves between two centres, cut at the boxes' borders.

const GAP = 2,
  HEAD_LENGTH = 9,
  HEAD_WIDTH = 7,
  RADIUS = 3.6,
  CLEARANCE = 5;
const STRAIGHT_FIRST = [0, 0.08, -0.08, 0.16, -0.16, 0.25, -0.25, 0.36, -0.36, 0.5, -0.5];
const BENT_FIRST = [0.2, -0.2, 0.14, -0.14, 0.28, -0.28, 0.38, -0.38, 0.5, -0.5];

const at = (p, t) =>
  [0, 1].map((k) => (1 - t) * (1 - t) * p[0][k] + 2 * t * (1 - t) * p[1][k] + t * t * p[2][k]);
const xy = (p) => `${p[0].toFixed(1)},${p[1].toFixed(1)}`;

// Distance of a point from a box; negative inside.
function boxDistance(point, centre, size) {
  const r = size[1] / 2;
  const x = Math.abs(point[0] - centre[0]) - size[0] / 2 + r;
  const y = Math.abs(point[1] - centre[1]) - size[1] / 2 + r;
  return Math.hypot(Math.max(x, 0), Math.max(y, 0)) + Math.min(Math.max(x, y), 0) - r;
}

function whole(p, q, bend) {
  const chord = [q[0] - p[0], q[1] - p[1]];
  return [p, [(p[0] + q[0]) / 2 + 2 * bend * chord[1], (p[1] + q[1]) / 2 - 2 * bend * chord[0]], q];
}

// The part of a curve between two boxes; null when they touch.
function between(curve, ends) {
  const steps = 120;
  const free = (t) =>
    ends.every(([centre, size]) => boxDistance(at(curve, t), centre, size) >= GAP);
  let first = 0,
    last = steps;
  while (first <= steps && !free(first / steps)) first++;
  while (last >= 0 && !free(last / steps)) last--;
  if (first >= last) return null;
  // A step of a long curve is longer than an arrowhead: the border is looked for inside it.
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

// How much a curve between two nodes runs into the boxes of others, and along other lines.
function hits(curve, a, b, centres, sizes, lines) {
  let cost = 0;
  const points = [];
  for (let k = 1; k < 16; k++) points.push(at(curve, k / 16));
  const [low, high] = [Math.min, Math.max].map((end) =>
    [0, 1].map((k) => end(...points.map((p) => p[k]))),
  );
  centres.forEach((centre, v) => {
    const far = [0, 1].some((k) => {
      const reach = sizes[v][k] / 2 + CLEARANCE;
      return centre[k] + reach < low[k] || centre[k] - reach > high[k];
    });
    if (v === a || v === b || far) return;
    for (const point of points) {
      cost += Math.max(0, CLEARANCE - boxDistance(point, centre, sizes[v]));
    }
  });
  for (const line of lines) {
    if (Math.hypot(line[0] - points[7][0], line[1] - points[7][1]) < 9) cost += 3;
  }
  return cost;
}

// The bend that hits least, where a detour counts, too; one that was clear before is kept.
function chooseBend([a, mark, b], before, centres, sizes, lines) {
  const usual = mark === "<->" ? BENT_FIRST : STRAIGHT_FIRST;
  const length = Math.hypot(centres[a][0] - centres[b][0], centres[a][1] - centres[b][1]);
  let best = usual[0],
    least = Infinity;
  for (const bend of before === undefined ? usual : [before, ...usual]) {
    const hit = hits(whole(centres[a], centres[b], bend), a, b, centres, sizes, lines);
    if (hit === 0 && bend === before) return bend;
    const cost = hit + (20 + 0.15 * length) * Math.abs(bend - usual[0]);
    if (cost < least) [best, least] = [bend, cost];
    if (hit === 0) break;
  }
  return best;
}

// What is drawn at both ends: heads as paths, circles as centres, and where the line begins and ends.
function drawnEnds(points, marks) {
  const heads = ["", ""],
    circles = [null, null];
  const tips = [points[0], points[2]].map((tip, side) => {
    const dx = tip[0] - points[1][0],
      dy = tip[1] - points[1][1];
    const length = Math.hypot(dx, dy) || 1,
      u = [dx / length, dy / length];
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
  return { heads, circles, line: `M${xy(tips[0])} Q${xy(points[1])} ${xy(tips[1])}` };
}
