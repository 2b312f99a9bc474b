// One message with its fields and bytes; pointing at one marks the other.

// Maximum numbers of bytes, and of fields of one group, that are shown at first.
const BYTES = 2048, FIELDS = 200;

// The fields of the open message by the bytes that they cover; the smallest one counts.
let leaves = [], cells = [], marked = [];

function openMessage(m) {
  if (m && !m.icmp) change({ m: m.index });
}

function showMessage(capture) {
  const dialog = by("message");
  const m = state.m === undefined ? undefined : capture.sample.messages[state.m];
  if (!m || m.icmp) {
    if (dialog.open) dialog.close();
    return;
  }
  const shown = details(capture, m);
  by("message-title").textContent = visible(m.path);
  put("message-facts", facts(capture, m), m.findings.map(found));
  [leaves, cells, marked] = [[], [], []];
  by("field").textContent = "\u00A0";
  if (shown) {
    put("tree", shown.tree ? tree(shown.tree) : make("p", {}, "There are too many fields for this page; gamewire dissect -v lists them."));
    showBytes(shown, BYTES);
    for (const finding of m.findings) finding.length && mark([finding.offset, finding.offset + finding.length], "found");
  } else {
    put("tree", make("p", {}, "Of this many messages the page holds not all fields; gamewire dissect -v shows them."));
    put("bytes");
  }
  if (!dialog.open) dialog.showModal();
}

function facts(capture, m) {
  const all = [
    ["Time", `${day(capture, m.at)} ${clock(capture, m.at, 6)} UTC`], ["From", m.src], ["To", m.dst],
    ["Packet", grouped(m.frame) + (m.packets > 1 ? `, the last of ${m.packets}` : "")], ["Bytes as sent", grouped(m.length)], ["Conversation", grouped(m.flow)],
    m.request !== undefined && ["Responds to", `packet ${grouped(m.request)}, after ${span(m.response_time)}`],
    m.answered_by !== undefined && [m.answered ? "Answered by" : "Challenged by", "packet " + grouped(m.answered_by)],
    m.answered === false && ["Answered by", "nothing in this capture"],
    m.answered === null && ["Answered by", "nothing before the capture ends"], m.summary && ["Says", m.summary],
  ];
  return make("dl", {}, all.filter(Boolean).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, wire(value)))));
}

const found = (f) => make("p", { class: "found " + (isOpen(f) ? "open" : f.severity) },
  make("strong", {}, `${isOpen(f) ? "? " : ""}${f.severity} ${f.rule} ${f.slug}`), ": ", wire(f.message));

// The fields as a tree, with keyboard navigation by arrow keys.
function tree(nodes) {
  const root = make("ul", { role: "tree", "aria-labelledby": "tree-title", onkeydown: climb }, level(nodes, 1));
  root.querySelector("[role=treeitem]")?.setAttribute("tabindex", 0);
  return root;
}

function level(nodes, depth, from = 0) {
  const shown = nodes.slice(from, from + FIELDS).map((node) => branch(node, depth));
  if (nodes.length <= from + FIELDS) return shown;
  const more = make("li", { role: "none" }, button(grouped(nodes.length - from - FIELDS) + " more fields", () =>
    more.replaceWith(...level(nodes, depth, from + FIELDS))));
  return [...shown, more];
}

function branch(node, depth) {
  const has = node.children?.length > 0;
  const bytes = node.bytes ? ` (bytes ${node.bytes})` : "";
  const value = node.value === null || has ? "" : typeof node.value === "object" ? JSON.stringify(node.value) : String(node.value);
  const ends = [node.offset, node.offset + node.length];
  const item = make("li", {
    role: "treeitem", tabindex: -1, "aria-level": depth, "aria-expanded": has ? String(depth < 3) : undefined,
    onfocus: (event) => { event.stopPropagation(); point(ends, node); },
    onmouseover: (event) => { event.stopPropagation(); point(ends, node); },
  });
  item.append(make("span", { class: "row" }, make("span", { class: "label" }, node.label),
    value !== "" && make("span", { class: "value" }, wire(shortened(value, 400) + bytes)),
    node.meaning && make("span", { class: "meaning" }, wire(node.meaning))));
  item.firstChild.addEventListener("click", () => { has && expand(item, item.getAttribute("aria-expanded") !== "true"); item.focus(); });
  // Children are created when a node is expanded.
  if (has) {
    const inner = make("ul", { role: "group" });
    item.fold = () => inner.childNodes.length || inner.append(...level(node.children, depth + 1));
    item.append(inner);
    if (depth < 3) item.fold();
  }
  leaves.push({ ends, item, node });
  return item;
}

function expand(item, open) {
  if (open) item.fold();
  item.setAttribute("aria-expanded", String(open));
}

function climb(event) {
  const items = [...event.currentTarget.querySelectorAll("[role=treeitem]")].filter((item) => item.offsetParent !== null);
  const at = items.indexOf(document.activeElement);
  if (at < 0) return;
  const open = items[at].getAttribute("aria-expanded");
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) focusItem(items[at], items[Math.min(Math.max(to, 0), items.length - 1)]);
  else if (event.key === "ArrowRight" && open === "false") expand(items[at], true);
  else if (event.key === "ArrowRight" && open === "true") focusItem(items[at], items[at + 1]);
  else if (event.key === "ArrowLeft" && open === "true") expand(items[at], false);
  else if (event.key === "ArrowLeft") focusItem(items[at], items[at].parentElement.closest("[role=treeitem]"));
  else return;
  event.preventDefault();
}

function focusItem(from, to) {
  if (!to) return;
  from.setAttribute("tabindex", -1);
  to.setAttribute("tabindex", 0);
  to.focus();
}

// Sixteen bytes per row, in hex and as text.
function showBytes(shown, most) {
  const all = Math.min(shown.bytes.length / 2, most);
  cells = [];
  const rows = [];
  for (let start = 0; start < all; start += 16) {
    const [hex, text] = [[], []];
    for (let at = start; at < Math.min(start + 16, all); at += 1) {
      const byte = shown.bytes.slice(2 * at, 2 * at + 2);
      const code = parseInt(byte, 16);
      const pair = [make("span", { "data-at": at, class: at % 16 === 8 ? "half" : undefined }, byte),
        make("span", { "data-at": at }, code > 32 && code < 127 ? String.fromCharCode(code) : code === 32 ? "\u00A0" : "\u00B7")];
      cells.push(pair);
      hex.push(pair[0]);
      text.push(pair[1]);
    }
    rows.push(make("div", { class: "line" }, make("span", { class: "offset" }, start.toString(16).padStart(4, "0")),
      make("span", { class: "hex" }, hex), make("span", { class: "text" }, text)));
  }
  const box = make("div", { class: "dump", tabindex: 0, role: "application", "aria-label": "Bytes: the arrow keys go from byte to byte",
    onmouseover: (event) => atByte(event.target.getAttribute?.("data-at")), onkeydown: step }, rows);
  const left = shown.bytes.length / 2 - all, missing = shown.length - shown.bytes.length / 2;
  put("bytes", box,
    left > 0 ? button(`Show the other ${counted(left, "byte")}`, () => showBytes(shown, Infinity)) : "",
    missing > 0 ? make("p", { class: "note" }, `${counted(missing, "further byte")} of this message are not in this page.`) : "");
}

// The focused byte.
let byteAt = -1;

function step(event) {
  const to = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 16, ArrowUp: -16 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  atByte(Math.min(Math.max(byteAt + to, 0), cells.length - 1));
}

function atByte(at) {
  if (at === null || at === undefined) return;
  byteAt = Number(at);
  const holds = ({ ends: [start, end] }) => start <= byteAt && byteAt < end;
  const inner = leaves.filter(holds).sort((a, b) => a.ends[1] - a.ends[0] - (b.ends[1] - b.ends[0]) || b.item.getAttribute("aria-level") - a.item.getAttribute("aria-level"))[0];
  if (inner) point(inner.ends, inner.node, inner.item);
}

// Marks bytes and their field.
function point([start, end], node, item) {
  for (const element of marked) element.classList.remove("here");
  marked = cells.slice(start, end).flat();
  const own = item || leaves.find((leaf) => leaf.node === node)?.item;
  if (own) marked.push(own.firstChild);
  for (const element of marked) element.classList.add("here");
  if (item) own.scrollIntoView({ block: "nearest" });
  else cells[start]?.[0].scrollIntoView({ block: "nearest" });
  const bytes = end > start + 1 ? `bytes ${start} to ${end - 1}` : end > start ? `byte ${start}` : "no bytes";
  by("field").textContent = visible(`${node.label}: ${bytes}`);
}

function mark([start, end], name) {
  for (const cell of cells.slice(start, end).flat()) cell.classList.add(name);
}
