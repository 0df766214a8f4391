// The canvas: only what is in sight is drawn, and with less detail the farther away it is.

const FAMILIES = [
  ["product", /^(Conv|ConvTranspose|ConvInteger|QLinearConv|MatMul|QLinearMatMul|Gemm|Einsum|Attention|LSTM|GRU|RNN|FusedAttention)/],
  ["norm", /(Norm|Softmax|Relu|Gelu|Sigmoid|Tanh|Elu|Swish|Mish|Erf|Elementwise|Clip|Softplus)/],
  ["quant", /(Quantize|Integer)/],
  ["control", /^(If|Loop|Scan|SequenceMap)$/],
  ["shape", /^(Reshape|Transpose|Shape|Gather|Concat|Slice|Squeeze|Unsqueeze|Flatten|Cast|Constant|Expand|Split|Identity|Tile|Pad|Range)/],
];

function familyOf(op) {
  const bare = op.split(".").pop();
  const found = FAMILIES.find(([, words]) => words.test(bare));
  return found ? found[0] : "box";
}

class Drawing {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.scale = 1;
    this.x = this.y = 0;  // of the layout, in the middle of the canvas
    this.asked = false;
    this.frames = 0;
    this.widths = new Map();
    this.readColours();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { this.readColours(); this.ask(); });
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    this.colour = new Proxy({}, { get: (_, name) => (this.known[name] = this.known[name] || style.getPropertyValue("--" + name).trim()) });
    this.known = {};
  }

  measure(text, bold) {
    const key = (bold ? "b" : "n") + text;
    if (!this.widths.has(key)) {
      this.context.font = bold ? "bold 12px sans-serif" : "11px sans-serif";
      this.widths.set(key, this.context.measureText(text).width);
    }
    return this.widths.get(key);
  }

  resize() {
    this.ratio = devicePixelRatio || 1;
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    this.canvas.width = Math.max(1, Math.round(this.width * this.ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * this.ratio));
    this.ask();
  }

  ask() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  toLayout(px, py) { return [(px - this.width / 2) / this.scale + this.x, (py - this.height / 2) / this.scale + this.y]; }

  fit() {
    const all = this.layout, width = all.right - all.left + 60, height = all.bottom - all.top + 60;
    this.scale = Math.min(1.2, this.width / width, this.height / height);
    // A deep graph is read from its top rather than seen as a thread.
    if (this.scale < 0.15) this.scale = Math.min(0.8, Math.max(this.scale, this.width / width));
    this.x = (all.left + all.right) / 2;
    this.y = Math.min((all.top + all.bottom) / 2, all.top - 20 + this.height / 2 / this.scale);
    this.ask();
  }

  zoom(factor, px = this.width / 2, py = this.height / 2) {
    const [x, y] = this.toLayout(px, py);
    this.scale = Math.min(4, Math.max(0.005, this.scale * factor));
    const [nx, ny] = this.toLayout(px, py);
    this.x += x - nx;
    this.y += y - ny;
    this.ask();
  }

  centre(box) {
    this.x = box.x;
    this.y = box.y;
    this.scale = Math.max(this.scale, 0.6);
    this.ask();
  }

  boxAt(px, py) {
    const [x, y] = this.toLayout(px, py), row = Math.round(y / ROW);
    for (const i of this.layout.byRow[row] || []) {
      const box = this.layout.boxes[i];
      if (Math.abs(x - box.x) <= box.width / 2 && Math.abs(y - box.y) <= box.height / 2) return i;
    }
    return -1;
  }

  // Boxes in sight, row by row.
  *inSight(left, top, right, bottom) {
    const { byRow, boxes } = this.layout;
    const last = Math.min(byRow.length - 1, Math.ceil(bottom / ROW + 1));
    for (let r = Math.max(0, Math.floor(top / ROW - 1)); r <= last; r++) {
      const row = byRow[r];
      let low = 0, high = row.length;
      while (low < high) { const mid = (low + high) >> 1; boxes[row[mid]].x < left - 130 ? (low = mid + 1) : (high = mid); }
      for (; low < row.length && boxes[row[low]].x < right + 130; low++) yield row[low];
    }
  }

  draw() {
    if (!this.layout) return;
    const c = this.context, [left, top] = this.toLayout(0, 0), [right, bottom] = this.toLayout(this.width, this.height);
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.fillStyle = this.colour.paper;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    const k = this.scale * this.ratio;
    c.setTransform(k, 0, 0, k, this.canvas.width / 2 - this.x * k, this.canvas.height / 2 - this.y * k);
    this.drawEdges(left, top, right, bottom);
    this.drawBoxes(left, top, right, bottom);
    this.frames++;
  }

  drawEdges(left, top, right, bottom) {
    const c = this.context, near = this.scale > 0.3, on = this.lit || new Set();
    c.lineWidth = Math.max(1, 0.6 / this.scale);
    for (const lit of [false, true]) {
      c.beginPath();
      c.strokeStyle = lit ? this.colour["wire-on"] : this.colour.wire;
      if (lit) c.lineWidth *= 2;
      this.layout.edges.forEach((edge) => {
        if (on.has(edge) !== lit) return;
        const [l, t, r, b] = edge.box;
        if (r < left || l > right || b < top || t > bottom) return;
        const p = edge.points;
        c.moveTo(p[0][0], p[0][1]);
        for (let i = 1; i < p.length; i++) {
          if (!near) { c.lineTo(p[i][0], p[i][1]); continue; }
          const middle = (p[i - 1][1] + p[i][1]) / 2;
          c.bezierCurveTo(p[i - 1][0], middle, p[i][0], middle, p[i][0], p[i][1]);
        }
      });
      c.stroke();
    }
  }

  drawBoxes(left, top, right, bottom) {
    const c = this.context, { boxes } = this.layout, readable = this.scale > 0.28, batches = new Map(), seen = [];
    for (const i of this.inSight(left, top, right, bottom)) {
      const fill = this.fillOf(boxes[i]);
      if (!batches.has(fill)) batches.set(fill, []);
      batches.get(fill).push(boxes[i]);
      seen.push(boxes[i]);
    }
    c.lineWidth = 1;
    for (const [fill, list] of batches) {
      c.fillStyle = fill;
      c.beginPath();
      for (const b of list) c.rect(b.x - b.width / 2, b.y - b.height / 2, b.width, b.height);
      c.fill();
      c.strokeStyle = this.colour["box-line"];
      if (this.scale > 0.1) c.stroke();
    }
    for (const b of seen) this.drawFrame(b);
    if (!readable) return;
    c.textAlign = "center";
    for (const b of seen) {
      c.fillStyle = this.colour.ink;
      c.font = "bold 12px sans-serif";
      c.fillText(this.cut(b.title, b.width - 12, true), b.x, b.y - 3);
      if (this.scale < 0.45 || !b.sub) continue;
      c.fillStyle = this.colour.faint;
      c.font = "11px sans-serif";
      c.fillText(this.cut(b.sub, b.width - 12, false), b.x, b.y + 12);
    }
  }

  cut(text, room, bold) {
    if (this.measure(text, bold) <= room) return text;
    let keep = Math.max(1, Math.floor(text.length * room / this.measure(text, bold)) - 1);
    return "\u2026" + text.slice(text.length - keep);
  }

  fillOf(box) {
    if (box.heat !== undefined) return `color-mix(in srgb, ${this.colour.heat} ${Math.round(box.heat * 85)}%, ${this.colour.box})`;
    if (box.kind === "input" || box.kind === "output") return this.colour.port;
    if (box.kind === "group") return this.colour.group;
    return this.colour[box.family || (box.family = familyOf(box.title))];
  }

  // Findings, marks and the choice, around a box.
  drawFrame(box) {
    const colour = box.chosen ? this.colour.chosen : box.worst ? this.colour[box.worst] : box.mark ? this.colour[box.mark] : "";
    if (!colour) return;
    const c = this.context;
    c.strokeStyle = colour;
    c.lineWidth = Math.max(3, 2 / this.scale);
    c.strokeRect(box.x - box.width / 2 - 2, box.y - box.height / 2 - 2, box.width + 4, box.height + 4);
    c.lineWidth = 1;
  }
}
