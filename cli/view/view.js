// The page: stages, groups, search, keys and links to a node.

const MOST_AT_FIRST = 600;  // boxes; with more, groups are folded until they are few

class ModelView {
  constructor(data) {
    this.data = data;
    this.stage = -1;
    this.way = [];        // bodies that were entered: [graph, label]
    this.folds = new Map();  // stage and graph to folded paths
    this.panel = new Panel(this);
    this.build();
    this.drawing = new Drawing(this.canvas);
    this.show(0);
    this.follow();
    addEventListener("hashchange", () => this.follow());
  }

  get graph() { return this.data.stages[this.stage].graphs[this.graphNumber]; }
  get folded() { return this.folds.get(this.stage + ":" + this.graphNumber); }
  nameOf(i) { const node = this.graph.nodes[i]; return `${node.op} ${node.name || nameOfFirst(this.graph, node)}`; }

  // --- the page

  build() {
    const stages = element("select", { "aria-label": "stage", onchange: () => this.show(Number(stages.value)) });
    this.data.stages.forEach((stage, i) => stages.append(element("option", { value: i, text: stage.title })));
    this.stages = stages;
    const button = (text, title, go) => element("button", { type: "button", text, title, "aria-label": title, onclick: go });
    this.input = element("input", { type: "search", placeholder: "search  /", "aria-label": "search nodes and values", role: "combobox",
      "aria-expanded": "false", "aria-controls": "found", oninput: () => this.search(), onkeydown: (event) => this.searchKey(event) });
    this.found = element("ul", { id: "found", role: "listbox", hidden: "" });
    this.canvas = element("canvas", { tabindex: "0", role: "application", "aria-label":
      "graph: arrow keys go along wires, enter opens, plus and minus zoom, 0 shows all, f folds, slash searches" });
    this.said = element("div", { class: "unseen", role: "status", "aria-live": "polite" });
    this.crumbs = element("nav", { id: "way", "aria-label": "graphs" });
    document.body.append(
      element("header", {}, element("h1", { text: this.data.title }), stages, element("div", { id: "search" }, this.input, this.found),
        button("fold", "fold all groups", () => this.foldAll(true)), button("unfold", "unfold all groups", () => this.foldAll(false)),
        button("all", "show all of it", () => this.drawing.fit()), button("+", "nearer", () => this.drawing.zoom(1.3)),
        button("-", "farther", () => this.drawing.zoom(1 / 1.3)), button("model", "about the model", () => this.chooseNothing())),
      element("main", {}, this.canvas, this.crumbs, this.said), this.panel.root);
    this.listen();
  }

  listen() {
    let held = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, y: event.offsetY, moved: false };
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (held === null) return;
      const dx = event.offsetX - held.x, dy = event.offsetY - held.y;
      if (!held.moved && Math.hypot(dx, dy) < 4) return;
      this.drawing.x -= dx / this.drawing.scale;
      this.drawing.y -= dy / this.drawing.scale;
      held = { x: event.offsetX, y: event.offsetY, moved: true };
      this.drawing.ask();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      const click = held !== null && !held.moved;
      held = null;
      if (click) this.clicked(this.drawing.boxAt(event.offsetX, event.offsetY));
    });
    this.canvas.addEventListener("dblclick", (event) => this.open(this.drawing.boxAt(event.offsetX, event.offsetY)));
    this.canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.drawing.zoom(Math.exp(-event.deltaY * 0.0015), event.offsetX, event.offsetY);
    }, { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target === this.input) return;
      event.preventDefault();
      this.input.focus();
    });
  }

  // --- what is shown

  show(stage, graph = 0) {
    if (stage === this.stage && graph === this.graphNumber) return;
    if (graph === 0) this.way = [];
    this.stage = stage;
    this.graphNumber = graph;
    this.stages.value = String(stage);
    const key = stage + ":" + graph;
    if (!this.folds.has(key)) this.folds.set(key, this.firstFolds());
    this.chosen = -1;
    this.arrange();
    this.drawing.fit();
    this.panel.model();
    this.crumbs.replaceChildren(...(graph === 0 ? [] : [this.panel.link("main graph", () => this.show(this.stage)),
      element("span", { text: " > " + this.way.map((step) => step[1]).join(" > ") })]));
  }

  enter(graph, node, attribute) {
    this.way.push([graph, `${this.nameOf(node)} ${attribute}`]);
    this.show(this.stage, graph);
  }

  groups() {
    const all = new Set();
    for (const node of this.graph.nodes) if (node.group) for (const path of pathsOf(node.group)) all.add(path);
    return all;
  }

  // The deepest folding that still shows few boxes; all unfolded if that is few.
  firstFolds() {
    if (this.graph.nodes.length <= MOST_AT_FIRST) return new Set();
    const all = [...this.groups()], depth = (path) => path.split("/").length;
    for (let level = Math.max(0, ...all.map(depth)); level >= 1; level--) {
      const folds = new Set(all.filter((path) => depth(path) >= level));
      const boxes = new Set(this.graph.nodes.map((node, i) => foldedAround(node, folds) || i));
      if (boxes.size <= MOST_AT_FIRST || level === 1) return folds;
    }
    return new Set();
  }

  arrange() {
    this.drawing.layout = this.layout = layOut(this.graph, this.folded, (text, bold) => this.drawing.measure(text, bold));
    const { nodes } = this.graph, { findings } = this.data, ranks = { note: 1, warning: 2, error: 3 };
    const most = nodes.reduce((least, node) => Math.max(least, node.ms || 0), 0);
    for (const box of this.layout.boxes) {
      const members = box.kind === "group" ? box.members : box.kind === "node" ? [box.node] : [];
      let rank = 0, ms = 0;
      for (const i of members) {
        for (const f of nodes[i].findings || []) if (ranks[findings[f][0]] > rank) { rank = ranks[findings[f][0]]; box.worst = findings[f][0]; }
        if (nodes[i].mark) box.mark = box.mark && box.mark !== nodes[i].mark ? "changed" : nodes[i].mark;
        ms += nodes[i].ms || 0;
      }
      if (most > 0 && members.length > 0) box.heat = Math.min(1, Math.sqrt(ms / most));
    }
  }

  rearrange(keep) {
    const before = keep >= 0 ? this.layout.boxes[this.layout.boxOfNode[keep]] : null;
    const dx = before ? before.x - this.drawing.x : 0, dy = before ? before.y - this.drawing.y : 0;
    this.arrange();
    if (before) {
      const after = this.layout.boxes[this.layout.boxOfNode[keep]];
      this.drawing.x = after.x - dx;
      this.drawing.y = after.y - dy;
    }
    this.mark();
    this.drawing.ask();
  }

  fold(path) {
    this.folded.add(path);
    const member = this.graph.nodes.findIndex((node) => node.group && pathsOf(node.group).includes(path));
    this.rearrange(member);
    this.clicked(this.layout.boxOfNode[member]);
  }

  unfold(path) {
    const member = this.graph.nodes.findIndex((node) => node.group && pathsOf(node.group).includes(path));
    this.folded.delete(path);
    this.rearrange(member);
  }

  foldAll(fold) {
    this.folds.set(this.stage + ":" + this.graphNumber, fold ? new Set([...this.groups()].filter((path) => !path.includes("/"))) : new Set());
    this.chosen = -1;
    this.rearrange(-1);
    this.drawing.fit();
  }

  // --- choosing

  clicked(number) {
    if (number < 0) return this.chooseNothing();
    const box = this.layout.boxes[number];
    if (box.kind === "node") return this.choose(box.node, false);
    this.chosen = number;
    if (box.kind === "group") this.panel.group(box.path, box.members);
    else this.panel.wire(box.wire);
    this.mark();
    this.say(`${box.kind} ${box.title}, ${box.sub || ""}`);
  }

  choose(node, centre = true) {
    for (const path of pathsOf(this.graph.nodes[node].group || "")) {
      if (this.folded.delete(path)) this.layout = null;
    }
    if (this.layout === null) this.arrange();
    this.chosen = this.layout.boxOfNode[node];
    if (centre) this.drawing.centre(this.layout.boxes[this.chosen]);
    this.panel.node(node);
    this.mark();
    const hash = `#${this.stage}.${this.graphNumber}.${encodeURIComponent(this.graph.nodes[node].name || nameOfFirst(this.graph, this.graph.nodes[node]))}`;
    if (location.hash !== hash) history.replaceState(null, "", hash);
    const made = this.graph.nodes[node].out.filter((wire) => wire >= 0).map((wire) => this.graph.wires[wire][1]).join(", ");
    this.say(`${this.nameOf(node)}, makes ${made}`);
  }

  chooseWire(wire) {
    this.panel.wire(wire);
    this.drawing.lit = new Set(this.layout.edges.filter((edge) => edge.wires.includes(wire)));
    this.drawing.ask();
    this.say(`value ${this.graph.wires[wire][0]}, ${this.graph.wires[wire][1]}`);
  }

  chooseNothing() {
    this.chosen = -1;
    this.panel.model();
    this.mark();
  }

  mark() {
    this.layout.boxes.forEach((box, i) => (box.chosen = i === this.chosen));
    this.drawing.lit = this.chosen < 0 ? new Set() : new Set(this.layout.edges.filter((edge) => edge.from === this.chosen || edge.to === this.chosen));
    this.drawing.ask();
  }

  open(number) {
    if (number < 0) return;
    const box = this.layout.boxes[number];
    if (box.kind === "group") return this.unfold(box.path);
    const node = box.kind === "node" ? this.graph.nodes[box.node] : null;
    if (node && node.bodies) this.enter(node.bodies[0][1], box.node, node.bodies[0][0]);
  }

  say(text) { this.said.textContent = text; }

  // --- keys

  key(event) {
    const move = { ArrowUp: () => this.along("up"), ArrowDown: () => this.along("down"), ArrowLeft: () => this.beside(-1),
      ArrowRight: () => this.beside(1), Enter: () => this.open(this.chosen), "+": () => this.drawing.zoom(1.25), "=": () => this.drawing.zoom(1.25),
      "-": () => this.drawing.zoom(0.8), 0: () => this.drawing.fit(), f: () => this.foldChosen(), Escape: () => this.chooseNothing() }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move();
  }

  go(number) {
    if (number === undefined || number < 0) return;
    this.clicked(number);
    this.drawing.centre(this.layout.boxes[number]);
  }

  // To the nearest box that this one reads, or that reads it.
  along(way) {
    if (this.chosen < 0) return this.go(this.layout.byRow.find((row) => row.length > 0)[0]);
    const here = this.layout.boxes[this.chosen], near = (i) => Math.abs(this.layout.boxes[i].x - here.x);
    const next = this.layout.edges.filter((edge) => (way === "up" ? edge.to : edge.from) === this.chosen)
      .map((edge) => (way === "up" ? edge.from : edge.to)).sort((a, b) => near(a) - near(b));
    this.go(next[0]);
  }

  beside(step) {
    if (this.chosen < 0) return;
    const row = this.layout.byRow[this.layout.boxes[this.chosen].row];
    this.go(row[row.indexOf(this.chosen) + step]);
  }

  foldChosen() {
    const box = this.layout.boxes[this.chosen];
    if (box && box.kind === "node" && this.graph.nodes[box.node].group) this.fold(this.graph.nodes[box.node].group);
  }

  // --- search and links

  search() {
    const words = this.input.value.trim().toLowerCase(), hits = [];
    const fits = (text) => text.toLowerCase().includes(words);
    if (words) {
      this.graph.nodes.forEach((node, i) => { if (hits.length < 50 && (fits(node.op) || fits(node.name || ""))) hits.push([this.nameOf(i), () => this.choose(i)]); });
      this.graph.wires.forEach((wire, i) => { if (hits.length < 80 && fits(wire[0])) hits.push([`value ${wire[0]} ${wire[1]}`, () => this.chooseWire(i)]); });
    }
    this.hits = hits;
    this.at = 0;
    this.found.replaceChildren(...hits.map(([text, go], i) => element("li", { role: "option", "aria-selected": String(i === 0), text, onclick: () => this.take(go) })));
    this.found.hidden = hits.length === 0;
    this.input.setAttribute("aria-expanded", String(hits.length > 0));
    if (words) this.say(hits.length + " found");
  }

  searchKey(event) {
    if (event.key === "Escape") { this.input.value = ""; this.search(); this.canvas.focus(); return; }
    if (!this.hits || this.hits.length === 0) return;
    if (event.key === "Enter") return this.take(this.hits[this.at][1]);
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    this.found.children[this.at].setAttribute("aria-selected", "false");
    this.at = (this.at + step + this.hits.length) % this.hits.length;
    this.found.children[this.at].setAttribute("aria-selected", "true");
    this.found.children[this.at].scrollIntoView({ block: "nearest" });
    this.say(this.hits[this.at][0]);
  }

  take(go) {
    this.found.hidden = true;
    go();
    this.canvas.focus();
  }

  // #STAGE.GRAPH.NAME leads to a node.
  follow() {
    const parts = location.hash.match(/^#(\d+)\.(\d+)\.(.+)$/);
    if (!parts || !this.data.stages[parts[1]] || !this.data.stages[parts[1]].graphs[parts[2]]) return;
    this.show(Number(parts[1]), Number(parts[2]));
    const name = decodeURIComponent(parts[3]);
    const node = this.graph.nodes.findIndex((one) => (one.name || nameOfFirst(this.graph, one)) === name);
    if (node >= 0) this.choose(node);
  }
}

const modelView = new ModelView(JSON.parse(document.getElementById("data").textContent));
globalThis.modelView = modelView;
