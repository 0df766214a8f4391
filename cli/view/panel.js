// The side panel: what is known of the model, of a node, of a group and of a wire. Made of elements, never of markup.

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "text") made.textContent = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const table = (rows) => element("table", {}, ...rows.map(([label, ...cells]) =>
  element("tr", {}, element("th", { text: label, scope: "row" }), ...cells.map((cell) =>
    cell instanceof Node ? element("td", {}, cell) : element("td", { text: cell })))));

const number = (x) => (x === null || x === undefined ? "not finite" : Number(x.toPrecision(6)).toString());

function bars(counts) {
  const most = Math.max(...counts);
  const made = element("div", { class: "bars", role: "img", "aria-label": "histogram: " + counts.join(" ") });
  for (const count of counts) {
    const bar = element("i");
    bar.style.height = Math.max(1, 40 * count / most) + "px";
    made.append(bar);
  }
  return made;
}

function statisticsTable(title, s) {
  const rows = [["type", s.type + "[" + s.shape.join(",") + "]"], ["elements", s.count.toLocaleString("en")]];
  if (s.min !== undefined) rows.push(["least, most", number(s.min) + ", " + number(s.max)], ["mean, deviation", number(s.mean) + ", " + number(s.std)]);
  if (s.zeros !== undefined) rows.push(["zeros", (100 * s.zeros).toFixed(1) + " %"]);
  if (s.nans) rows.push(["NaN", (100 * s.nans).toFixed(1) + " %"]);
  if (s.sampled) rows.push(["looked at", s.sampled.toLocaleString("en") + " of them"]);
  if (s.first) rows.push(["first", s.first]);
  return [element("h2", { text: title }), table(rows), s.histogram ? bars(s.histogram) : null];
}

class Panel {
  constructor(view) {
    this.view = view;
    this.root = element("aside", { "aria-label": "details", tabindex: "0" });
  }

  show(...children) { this.root.replaceChildren(...children.flat().filter((child) => child)); this.root.scrollTop = 0; }

  link(text, go, title) { return element("button", { class: "link mono", type: "button", text: text || "(no name)", onclick: go, title: title || "" }); }

  findings(list) {
    const all = this.view.data.findings;
    if (!list || list.length === 0) return [];
    return [element("h2", { text: "Findings" }), ...list.map((i) => element("p", { class: all[i][0], text: `${all[i][0]}[${all[i][1]}]: ${all[i][2]}` }))];
  }

  model() {
    const { data, graph } = this.view, children = [element("h2", { text: "Model" }), table(data.facts)];
    const ports = (title, wires) => [element("h2", { text: title }), table(wires.map((wire) =>
      [graph.wires[wire][0], this.link(graph.wires[wire][1] || "?", () => this.view.chooseWire(wire))]))];
    children.push(...ports("Inputs", graph.inputs), ...ports("Outputs", graph.outputs.filter((wire) => wire >= 0)));
    children.push(...this.slowest(), ...this.differences(), ...this.findings(data.findings.map((_, i) => i)));
    this.show(children);
  }

  slowest() {
    const timed = this.view.graph.nodes.map((node, i) => [node.ms || 0, i]).filter(([ms]) => ms > 0).sort((a, b) => b[0] - a[0]);
    if (timed.length === 0) return [];
    const total = timed.reduce((sum, [ms]) => sum + ms, 0);
    return [element("h2", { text: `Time: ${total.toFixed(3)} ms` }), table(timed.slice(0, 12).map(([ms, i]) =>
      [`${ms.toFixed(3)} ms ${(100 * ms / total).toFixed(1)} %`, this.link(this.view.nameOf(i), () => this.view.choose(i))]))];
  }

  differences() {
    const list = this.view.data.differences;
    if (list.length === 0) return [];
    return [element("h2", { text: list.length + " differences" }), ...list.slice(0, 200).map((d) => element("p", { class: d.kind },
      element("span", { text: `${d.part}: ${d.kind} ` }),
      d.node !== undefined ? this.link(d.name, () => { this.view.show(0); this.view.choose(d.node); }) : element("span", { text: d.name }),
      ...d.details.map((line) => element("div", { class: "mono", text: line }))))];
  }

  node(i) {
    const { graph, data } = this.view, node = graph.nodes[i];
    const wires = (title, list) => list.length === 0 ? [] : [element("h2", { text: title }), table(list.filter((wire) => wire >= 0).map((wire) =>
      [graph.wires[wire][1] || "?", this.link(graph.wires[wire][0], () => this.view.chooseWire(wire))]))];
    const rows = [["operator", node.op], ["name", node.name || "none"]];
    if (node.group) rows.push(["group", this.link(node.group, () => this.view.fold(node.group))]);
    if (node.kernel) rows.push(["kernel", node.kernel]);
    if (node.ms) rows.push(["time", node.ms.toFixed(4) + " ms"]);
    if (node.mark) rows.push(["against the other", element("span", { class: node.mark, text: node.mark })]);
    const children = [element("h2", { text: `Node ${i}: ${node.op}` }), table(rows), ...this.findings(node.findings)];
    if (node.attrs) children.push(element("h2", { text: "Attributes" }), table(node.attrs));
    children.push(...wires("Reads", node.in), ...wires("Makes", node.out));
    for (const [attribute, body] of node.bodies || []) {
      children.push(element("p", {}, this.link(`open ${attribute}: ${data.stages[this.view.stage].graphs[body].nodes.length} nodes`, () => this.view.enter(body, i, attribute))));
    }
    children.push(...this.links(node));
    this.show(children);
  }

  // The same thing in the other stage.
  links(node) {
    const other = this.view.stage === 0 ? 1 : 0;
    if (!node.links || this.view.graphNumber !== 0 || this.view.stage > 1) return [];
    const nodes = this.view.data.stages[other].graphs[0].nodes;
    return [element("h2", { text: other === 1 ? "Runs as" : "Stands for" }), ...node.links.map((i) => element("div", {},
      this.link(`${nodes[i].op} ${nodes[i].name || ""}`, () => { this.view.show(other); this.view.choose(i); })))];
  }

  group(path, members) {
    const { graph } = this.view, counts = new Map();
    for (const i of members) counts.set(graph.nodes[i].op, (counts.get(graph.nodes[i].op) || 0) + 1);
    const time = members.reduce((sum, i) => sum + (graph.nodes[i].ms || 0), 0);
    this.show(element("h2", { text: "Group " + path }), time > 0 ? element("p", { text: time.toFixed(4) + " ms" }) : null,
      element("button", { type: "button", text: "unfold", onclick: () => this.view.unfold(path) }),
      table([...counts].sort((a, b) => b[1] - a[1]).map(([op, count]) => [op, String(count)])));
  }

  wire(wire) {
    const { graph, data } = this.view, [name, type, how, weight, value] = graph.wires[wire];
    const maker = graph.nodes.findIndex((node) => node.out.includes(wire));
    const readers = graph.nodes.flatMap((node, i) => (node.in.includes(wire) ? [i] : []));
    const ways = { input: "declared: an input of the graph", weight: "declared: a weight", declared: "declared, not inferred",
      inferred: maker >= 0 ? `inferred by the rule of ${graph.nodes[maker].op} from what it reads` : "inferred", outer: "a value of the graph around this one",
      unknown: "not known before the model runs" };
    this.show(element("h2", { text: "Value" }), table([["name", name], ["type", type || "?"], ["how", ways[how] || how]]),
      maker >= 0 ? [element("h2", { text: "Made by" }), this.link(this.view.nameOf(maker), () => this.view.choose(maker))] : null,
      readers.length > 0 ? [element("h2", { text: "Read by" }), ...readers.slice(0, 50).map((i) => element("div", {}, this.link(this.view.nameOf(i), () => this.view.choose(i))))] : null,
      weight >= 0 && data.weights[weight].type ? statisticsTable("Weight", data.weights[weight]) : null,
      value >= 0 ? statisticsTable("Value in the run", data.values[value]) : null);
  }
}
