// Where the steps of a workflow stand in a drawing of it, and when what happened in a
// drawing of time.

/** Places nodes in layers, each behind all that lead to it, and orders layers so that
 * edges cross little. It returns for each id its layer and its place in it, from 0, and
 * how many there are of both. An edge that leads back, where edges are a ring, is left out. */
export function layers(nodes, edges) {
  const ids = nodes.map((n) => n.id);
  const out = new Map(ids.map((id) => [id, []]));
  for (const e of edges) if (out.has(e.from) && out.has(e.to)) out.get(e.from).push(e.to);

  const layer = new Map(ids.map((id) => [id, 0])), begun = new Set(), order = [];
  const back = new Set();
  for (const root of ids) {
    const stack = [[root, 0]];
    if (layer.has(root) && order.includes(root)) continue;
    begun.add(root);
    while (stack.length) {
      const top = stack.at(-1), next = out.get(top[0])[top[1]++];
      if (next === undefined) order.unshift(stack.pop()[0]);
      else if (stack.some(([id]) => id === next)) back.add(top[0] + ' ' + next);
      else if (!begun.has(next)) begun.add(next) && stack.push([next, 0]);
    }
  }
  for (const id of order) for (const to of out.get(id)) if (!back.has(id + ' ' + to)) layer.set(to, Math.max(layer.get(to), layer.get(id) + 1));

  const rows = [];
  for (const id of ids) (rows[layer.get(id)] ??= []).push(id);
  const into = new Map(ids.map((id) => [id, ids.filter((from) => out.get(from).includes(id) && !back.has(from + ' ' + id))]));
  const place = new Map();
  for (const row of rows) {
    const middle = (id) => { const at = into.get(id).map((from) => place.get(from) ?? 0); return at.length ? at.reduce((a, b) => a + b, 0) / at.length : 0; };
    row.sort((a, b) => middle(a) - middle(b) || ids.indexOf(a) - ids.indexOf(b));
    row.forEach((id, i) => place.set(id, i - (row.length - 1) / 2));
  }
  const widest = Math.max(1, ...rows.map((r) => r.length));
  return { at: new Map(ids.map((id) => [id, { layer: layer.get(id), place: place.get(id) + (widest - 1) / 2 }])), layers: rows.length, widest };
}

/** A scale of time in which what lasts long while nothing is done takes little room: at
 * says where a moment is, 0 to 1, gaps where time was folded, with how long. spans are
 * [from, to] in milliseconds. */
export function folded(spans) {
  const busy = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0])) {
    const last = busy.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else busy.push([from, to]);
  }
  const work = busy.reduce((n, [from, to]) => n + to - from, 0) || 1;
  const fold = work * 0.04; // what a folded gap takes
  const pieces = [], gaps = [];
  let x = 0;
  busy.forEach(([from, to], i) => {
    const before = i ? busy[i - 1][1] : from, idle = from - before, long = idle > fold * 2;
    if (idle > 0) {
      const width = long ? fold : idle;
      if (long) gaps.push({ from: x, to: x + width, took: idle });
      pieces.push([before, from, x, x + width]);
      x += width;
    }
    pieces.push([from, to, x, x + to - from]);
    x += to - from;
  });
  const all = x || 1;
  const at = (ms) => {
    for (const [from, to, left, right] of pieces) if (ms <= to) return (ms <= from ? left : left + ((ms - from) / (to - from || 1)) * (right - left)) / all;
    return 1;
  };
  return { at, gaps: gaps.map((g) => ({ ...g, from: g.from / all, to: g.to / all })) };
}
