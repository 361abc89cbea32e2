// --- bends: curves of edges around other boxes ---

const CLEARANCE = 5;
const STRAIGHT_FIRST = [0, 0.08, -0.08, 0.16, -0.16, 0.25, -0.25, 0.36, -0.36, 0.5, -0.5];
const BENT_FIRST = [0.2, -0.2, 0.14, -0.14, 0.28, -0.28, 0.38, -0.38, 0.5, -0.5];

// How much a curve between two nodes overlaps other boxes, and runs along other edges.
function overlap(curve, a, b, centers, sizes, lines) {
  let cost = 0;
  const points = [];
  for (let k = 1; k < 16; k++) points.push(at(curve, k / 16));
  const [low, high] = [Math.min, Math.max].map((end) =>
    [0, 1].map((k) => end(...points.map((p) => p[k]))),
  );
  centers.forEach((center, v) => {
    const far = [0, 1].some((k) => {
      const reach = sizes[v][k] / 2 + CLEARANCE;
      return center[k] + reach < low[k] || center[k] - reach > high[k];
    });
    if (v === a || v === b || far) return;
    for (const point of points) {
      cost += Math.max(0, CLEARANCE - boxDistance(point, center, sizes[v]));
    }
  });
  for (const line of lines) {
    if (Math.hypot(line[0] - points[7][0], line[1] - points[7][1]) < 9) cost += 3;
  }
  return cost;
}

// The bend with the least overlap and detour; a bend that is still clear is kept.
function chooseBend([a, mark, b], before, centers, sizes, lines) {
  const usual = mark === "<->" ? BENT_FIRST : STRAIGHT_FIRST;
  const length = Math.hypot(centers[a][0] - centers[b][0], centers[a][1] - centers[b][1]);
  let best = usual[0],
    least = Infinity;
  for (const bend of before === undefined ? usual : [before, ...usual]) {
    const hit = overlap(fullCurve(centers[a], centers[b], bend), a, b, centers, sizes, lines);
    if (hit === 0 && bend === before) return bend;
    const cost = hit + (20 + 0.15 * length) * Math.abs(bend - usual[0]);
    if (cost < least) [best, least] = [bend, cost];
    if (hit === 0) break;
  }
  return best;
}
