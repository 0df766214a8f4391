"use strict";
// Layered layout: boxes in rows from the inputs down, few crossings, straight chains. All of it is here; no library.

const ROW = 74, BOX_HEIGHT = 38, GAP = 18, LONG_SPAN = 40;

// The order in which each node comes after those it reads, as far as there is one.
function topological(graph) {
  const maker = new Map();
  graph.nodes.forEach((node, i) => node.out.forEach((wire) => wire >= 0 && maker.set(wire, i)));
  const readers = graph.nodes.map(() => []), open = new Int32Array(graph.nodes.length);
  graph.nodes.forEach((node, i) => {
    for (const wire of new Set(node.in)) {
      const from = maker.get(wire);
      if (from === undefined || from === i) continue;
      readers[from].push(i);
      open[i]++;
    }
  });
  const order = new Int32Array(graph.nodes.length).fill(-1), ready = [];
  for (let i = graph.nodes.length - 1; i >= 0; i--) if (open[i] === 0) ready.push(i);
  let next = 0;
  while (ready.length > 0) {
    const i = ready.pop();
    order[i] = next++;
    for (let r = readers[i].length - 1; r >= 0; r--) if (--open[readers[i][r]] === 0) ready.push(readers[i][r]);
  }
  for (let i = 0; i < order.length; i++) if (order[i] < 0) order[i] = next++;
  return order;
}

// "a/b/c" -> ["a", "a/b", "a/b/c"].
function pathsOf(group) {
  const paths = [];
  for (let at = group.indexOf("/"); at >= 0; at = group.indexOf("/", at + 1)) paths.push(group.slice(0, at));
  if (group) paths.push(group);
  return paths;
}

// The outermost folded group around a node, or "".
function foldedAround(node, folded) {
  if (!node.group) return "";
  for (const path of pathsOf(node.group)) if (folded.has(path)) return path;
  return "";
}

// What is drawn: nodes that no folded group holds, folded groups, the graph's inputs and outputs; and wires between them.
function visible(graph, folded) {
  const order = topological(graph), boxes = [], boxOfNode = new Int32Array(graph.nodes.length), groups = new Map();
  const add = (box) => boxes.push(box) - 1;
  const maker = new Map();
  graph.inputs.forEach((wire, i) => maker.set(wire, add({ kind: "input", wire, at: i - graph.inputs.length, title: graph.wires[wire][0],
    sub: graph.wires[wire][1] })));
  graph.nodes.forEach((node, i) => {
    const path = foldedAround(node, folded);
    if (path === "") {
      boxOfNode[i] = add({ kind: "node", node: i, at: order[i], title: node.op, sub: node.name || nameOfFirst(graph, node) });
      return;
    }
    if (!groups.has(path)) groups.set(path, add({ kind: "group", path, at: order[i], members: [], title: path.split("/").pop() }));
    const box = boxes[groups.get(path)];
    box.members.push(i);
    box.at = Math.min(box.at, order[i]);
    boxOfNode[i] = groups.get(path);
  });
  for (const number of groups.values()) boxes[number].sub = boxes[number].members.length + " nodes";
  graph.nodes.forEach((node, i) => node.out.forEach((wire) => wire >= 0 && maker.set(wire, boxOfNode[i])));
  const edges = new Map();
  const join = (from, to, wire) => {
    if (from === undefined || from === to) return;
    const key = from * 1048576 + to;
    if (!edges.has(key)) edges.set(key, { from, to, wires: [] });
    edges.get(key).wires.push(wire);
  };
  graph.nodes.forEach((node, i) => { for (const wire of new Set(node.in)) join(maker.get(wire), boxOfNode[i], wire); });
  graph.outputs.forEach((wire, i) => {
    if (wire < 0) return;
    join(maker.get(wire), add({ kind: "output", wire, at: graph.nodes.length + i, title: graph.wires[wire][0], sub: graph.wires[wire][1] }), wire);
  });
  return { boxes, edges: [...edges.values()], boxOfNode };
}

function nameOfFirst(graph, node) {
  const first = node.out.find((wire) => wire >= 0);
  return first === undefined ? "" : graph.wires[first][0];
}

// Rows: one below the lowest box that is read. An edge against the order (a folded group may have some) is drawn, not obeyed.
function assignRows(boxes, edges) {
  const byOrder = boxes.map((_, i) => i).sort((a, b) => boxes[a].at - boxes[b].at);
  const into = boxes.map(() => []), out = boxes.map(() => []);
  for (const edge of edges) {
    if (boxes[edge.from].at >= boxes[edge.to].at) continue;
    into[edge.to].push(edge.from);
    out[edge.from].push(edge.to);
  }
  for (const i of byOrder) {
    boxes[i].row = 0;
    for (const from of into[i]) boxes[i].row = Math.max(boxes[i].row, boxes[from].row + 1);
  }
  // What reads nothing stands just above its first reader.
  for (let k = byOrder.length - 1; k >= 0; k--) {
    const i = byOrder[k];
    if (into[i].length > 0 || out[i].length === 0) continue;
    boxes[i].row = Math.max(0, Math.min(...out[i].map((to) => boxes[to].row)) - 1);
  }
}

// Long edges pass through a point in each row, so that they go around boxes.
function addBends(boxes, edges) {
  const cells = boxes.map((box, i) => ({ box: i, row: box.row, width: box.width, up: [], down: [], x: 0 }));
  for (const edge of edges) {
    const first = boxes[edge.from].row, last = boxes[edge.to].row;
    edge.path = [edge.from];
    if (last > first + 1 && last - first <= LONG_SPAN) {
      for (let row = first + 1; row < last; row++) edge.path.push(cells.push({ box: -1, row, width: 6, up: [], down: [], x: 0 }) - 1);
    }
    edge.path.push(edge.to);
    if (last <= first) continue;
    for (let i = 0; i + 1 < edge.path.length; i++) {
      cells[edge.path[i]].down.push(edge.path[i + 1]);
      cells[edge.path[i + 1]].up.push(edge.path[i]);
    }
  }
  return cells;
}

// Cells of a row in the order of the mean place of their neighbours, sweeping down and up.
function orderRows(cells) {
  const rows = [];
  cells.forEach((cell, i) => (rows[cell.row] = rows[cell.row] || []).push(i));
  for (let r = 0; r < rows.length; r++) rows[r] = rows[r] || [];
  const place = new Float64Array(cells.length), key = new Float64Array(cells.length);
  const number = (row) => row.forEach((i, k) => (place[i] = k));
  rows.forEach(number);
  const sweep = (row, side) => {
    for (const i of row) {
      const near = cells[i][side];
      let sum = 0;
      for (const j of near) sum += place[j];
      key[i] = near.length > 0 ? sum / near.length : place[i];
    }
    row.sort((a, b) => key[a] - key[b] || a - b);
    number(row);
  };
  for (let round = 0; round < 4; round++) {
    for (let r = 1; r < rows.length; r++) sweep(rows[r], "up");
    for (let r = rows.length - 2; r >= 0; r--) sweep(rows[r], "down");
  }
  return rows;
}

// The places nearest to those wished for that keep the order and the distances: pools of neighbours that would overlap.
function spread(row, cells, wish) {
  const pools = [];
  let offset = 0;
  for (let k = 0; k < row.length; k++) {
    if (k > 0) offset += (cells[row[k - 1]].width + cells[row[k]].width) / 2 + GAP;
    let pool = { first: k, sum: wish[row[k]] - offset, count: 1 };
    while (pools.length > 0 && pools[pools.length - 1].sum / pools[pools.length - 1].count >= pool.sum / pool.count) {
      const before = pools.pop();
      pool = { first: before.first, sum: before.sum + pool.sum, count: before.count + pool.count };
    }
    pools.push(pool);
  }
  offset = 0;
  let at = 0;
  for (let k = 0; k < row.length; k++) {
    if (k > 0) offset += (cells[row[k - 1]].width + cells[row[k]].width) / 2 + GAP;
    if (at + 1 < pools.length && pools[at + 1].first === k) at++;
    cells[row[k]].x = pools[at].sum / pools[at].count + offset;
  }
}

function assignX(rows, cells) {
  const wish = new Float64Array(cells.length);
  for (const row of rows) {
    let x = 0;
    for (const i of row) { wish[i] = x + cells[i].width / 2; x += cells[i].width + GAP; }
    for (const i of row) wish[i] -= x / 2;
    spread(row, cells, wish);
  }
  const settle = (row, side) => {
    for (const i of row) {
      const near = cells[i][side];
      let sum = 0;
      for (const j of near) sum += cells[j].x;
      wish[i] = near.length > 0 ? sum / near.length : cells[i].x;
    }
    spread(row, cells, wish);
  };
  for (let round = 0; round < 3; round++) {
    for (let r = 1; r < rows.length; r++) settle(rows[r], "up");
    for (let r = rows.length - 2; r >= 0; r--) settle(rows[r], "down");
  }
}

// Boxes with x, y (their middle), width and height; edges with points.
function layOut(graph, folded, measure) {
  const { boxes, edges, boxOfNode } = visible(graph, folded);
  for (const box of boxes) {
    box.width = Math.min(240, Math.max(60, measure(box.title, true), measure(box.sub || "", false)) + 18);
    box.height = BOX_HEIGHT;
  }
  assignRows(boxes, edges);
  const cells = addBends(boxes, edges);
  const rows = orderRows(cells);
  assignX(rows, cells);
  let left = 0, right = 0;
  boxes.forEach((box, i) => {
    box.x = cells[i].x;
    box.y = box.row * ROW;
    left = Math.min(left, box.x - box.width / 2);
    right = Math.max(right, box.x + box.width / 2);
  });
  for (const edge of edges) {
    edge.points = edge.path.map((i) => [cells[i].x, cells[i].row * ROW]);
    edge.points[0][1] += BOX_HEIGHT / 2;
    edge.points[edge.points.length - 1][1] -= BOX_HEIGHT / 2;
    const xs = edge.points.map((p) => p[0]), ys = edge.points.map((p) => p[1]);
    edge.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  }
  const byRow = [];
  boxes.forEach((box, i) => (byRow[box.row] = byRow[box.row] || []).push(i));
  for (let r = 0; r < byRow.length; r++) byRow[r] = (byRow[r] || []).sort((a, b) => boxes[a].x - boxes[b].x);
  return { boxes, edges, boxOfNode, byRow, left, right, bottom: (rows.length - 1) * ROW + BOX_HEIGHT / 2, top: -BOX_HEIGHT / 2 };
}
