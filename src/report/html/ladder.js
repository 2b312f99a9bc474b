// The selected messages as a ladder diagram: a column for each host, time from top to bottom.

const ARROWS = 100, COLUMNS_AT_MOST = 8, ROW = 34, LINE = 17, HEAD = 46, BEFORE = 240, BESIDE = 520;

// Arrows of one drawing: printed pages break between these.
const BAND = 10;

// The least distance of two arrows that are drawn to scale, so that each can be seen.
const LEAST = 7;

// The messages of the page, and the index of the focused one.
let onPage = [], cursor = 0;

function showLadder(capture, messages) {
  const pages = Math.max(Math.ceil(messages.length / ARROWS), 1);
  const page = Math.min(state.page, pages - 1);
  onPage = messages.slice(page * ARROWS, (page + 1) * ARROWS);
  cursor = Math.min(cursor, Math.max(onPage.length - 1, 0));
  const all = isNarrowed() ? about(capture) + counted(sumOf(messages), "message") : counted(capture.sample.seen, "message");
  put("pages", make("span", { class: "where" }, all),
    pager(page, pages, "page", (to) => { cursor = 0; change({ page: to }); }));
  for (const input of document.getElementsByName("spacing")) input.checked = input.value === state.spacing;
  if (!onPage.length) return put("ladder", make("p", {}, isNarrowed() ? "No message is chosen." : "There are none."));
  put("ladder", isPhone() ? steps(capture) : ladder(capture));
}

// The columns of a page: the hosts with most messages, and one for all others.
function columns(capture) {
  const says = new Map();
  for (const m of onPage) for (const party of [m.from, m.to]) says.set(party, (says.get(party) || 0) + 1);
  let shown = [...says.keys()];
  if (shown.length > COLUMNS_AT_MOST) {
    const most = [...says].sort((a, b) => b[1] - a[1]).slice(0, COLUMNS_AT_MOST - 1).map(([party]) => party);
    shown = shown.filter((party) => most.includes(party));
  }
  const others = says.size - shown.length;
  const place = new Map(shown.map((party, nth) => [party, nth]));
  const names = shown.map((party) => name(capture.sample.parties[party]));
  if (others) names.push(counted(others, "other host"));
  return { names, of: (party) => place.get(party) ?? shown.length, isOther: (party) => !place.has(party) };
}

// With the port, if a host has only one.
function name(party) {
  const address = party.address.includes(":") ? `[${party.address}]` : party.address;
  return party.ports.length === 1 ? address + ":" + party.ports[0] : party.address;
}

// The vertical position of each message. To scale, all seconds have the same length, except for pauses, which are drawn broken.
function places(at, isTight) {
  const tops = [], pauses = [];
  const gaps = onPage.slice(1).map((m, nth) => Math.max(m.at - onPage[nth].at, 0));
  const some = gaps.filter((gap) => gap > 0).sort((a, b) => a - b);
  const middle = some[Math.floor(some.length / 2)] || 1;
  let y = 30;
  onPage.forEach((m, nth) => {
    if (nth && state.spacing === "time") {
      const gap = gaps[nth - 1];
      const isPause = gap > 12 * middle;
      if (isPause) pauses.push([y + 25, gap]);
      y += isPause ? 50 : Math.max((gap / middle) * 22, LEAST);
    }
    tops.push(y);
    if (state.spacing === "even") y += ROW + (findingsOf(m).length + (isTight && hasWords(m, at) ? 1 : 0)) * LINE;
  });
  return { tops, pauses, end: y + ROW };
}

const findingsOf = (m) => m.findings.slice(0, 4);

function ladder(capture) {
  const at = columns(capture);
  const gaps = Math.max(at.names.length - 1, 1), room = widthOf("ladder") - BEFORE;
  // If there is no room for texts next to the columns, they are below the arrows.
  const isTight = (room - BESIDE) / gaps < 140;
  const gap = Math.max(Math.min((isTight ? room - 70 : room - BESIDE) / gaps, 260), 125);
  const right = BEFORE + (at.names.length - 1) * gap;
  const x = (column) => BEFORE + column * gap + (at.names.length === 1 ? 60 : 0);
  const { tops, pauses, end } = places(at, isTight);
  const width = isTight ? Math.max(right + 70, BEFORE + BESIDE) : right + BESIDE, height = end + 10;
  let below = 0;
  const arrows = onPage.map((m, nth) => {
    // To scale, arrows may be closer than lines of text: texts without room are in the arrow's title.
    const hasRoom = tops[nth] - below >= 15;
    if (hasRoom) below = tops[nth];
    return arrow(capture, m, nth, { at, x, y: tops[nth], right, width, isTight, hasRoom });
  });
  const bands = [];
  for (let from = 0; from < arrows.length; from += BAND) {
    const edge = (nth) => (nth === 0 ? 0 : nth < arrows.length ? tops[nth] - Math.min(18, (tops[nth] - tops[nth - 1]) / 2) : height);
    const [top, bottom] = [edge(from), edge(from + BAND)];
    bands.push(draw("svg", { width, height: bottom - top, viewBox: `0 ${top} ${width} ${bottom - top}`, role: "presentation" },
      at.names.map((_, nth) => draw("line", { class: "lane", x1: x(nth), x2: x(nth), y1: top, y2: bottom })),
      pauses.filter(([y]) => y >= top && y < bottom).map(([y, gap]) => [
        draw("path", { class: "pause", d: `M${BEFORE - 6} ${y}l${right - BEFORE + 12} 0` }),
        draw("text", { class: "time", x: 6, y: y + 4 }, span(gap) + " pause")]),
      arrows.slice(from, from + BAND)));
  }
  const list = { class: "arrows", role: "list", "aria-label": counted(onPage.length, "message") + " as a ladder", onkeydown: walk };
  return [make("div", { class: "heads" }, heads(at.names, x, gap, width)), make("div", list, bands)];
}

// The names of the columns, which stay in sight.
function heads(names, x, gap, width) {
  const tip = draw("marker", { id: "head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
    draw("path", { class: "head", d: "M0 0L8 4L0 8z" }));
  return draw("svg", { width, height: HEAD, viewBox: `0 0 ${width} ${HEAD}`, "aria-hidden": true }, draw("defs", {}, tip),
    names.map((host, nth) => [draw("text", { class: "name", x: x(nth), y: nth % 2 && gap < 190 ? 34 : 18 }, shortened(host, 30)),
      draw("line", { class: "lane", x1: x(nth), x2: x(nth), y1: HEAD - 6, y2: HEAD })]));
}

// On a phone: two lines for each message, and its findings.
function steps(capture) {
  const item = (m, nth) => {
    const lines = [
      make("span", { class: "message" }, `#${m.frame} ${m.message} `, make("span", { class: "when" }, `${clock(capture, m.at)} ${since(nth)}`)),
      make("span", { class: "ends" }, wire(m.src), " \u2192 ", wire(m.dst), " ", silent("span", m), wire(shortened(said(m), 90))),
    ];
    const attributes = { class: "target", tabindex: nth === cursor ? 0 : -1, onclick: () => openMessage(m), onfocus: () => { cursor = nth; } };
    return make("li", { class: ["step", (m.lost || m.icmp) && "lost"].filter(Boolean).join(" "), "data-frame": m.frame },
      make(m.icmp ? "div" : "button", m.icmp ? { class: "target" } : { type: "button", ...attributes }, lines),
      findingsOf(m).map((f) => make("p", { class: "remark " + (isOpen(f) ? "open" : f.severity) }, remark(f))));
  };
  return make("ol", { class: "steps", onkeydown: walk }, onPage.map(item));
}

// The time from the previous message to this one.
const since = (nth) => (nth ? "+" + span(Math.max(onPage[nth].at - onPage[nth - 1].at, 0)) : "");

const remark = (f) => `${isOpen(f) ? "?" : "!"} ${f.severity} ${f.rule}: ${f.message}`;

function arrow(capture, m, nth, { at, x, y, right, width, isTight, hasRoom }) {
  const [from, to] = [x(at.of(m.from)), x(at.of(m.to))];
  // Below an arrow far to the right, texts end at its end.
  const isFar = isTight && Math.min(from, to) + 8 > width - BESIDE;
  const words = isFar ? Math.max(from, to) - 8 : isTight ? Math.min(from, to) + 8 : right + 14;
  const end = isFar ? " end" : "";
  // Lines of text, next to the arrow or below it.
  const line = (nth) => y + 4 + (nth + (isTight ? 1 : 0) - (isTight && !hasWords(m, at) ? 1 : 0)) * LINE;
  const isLost = m.lost || m.icmp;
  const way = to > from ? 1 : -1;
  const group = draw("g", { class: ["step", isLost && "lost", m.icmp && "icmp"].filter(Boolean).join(" "), role: "listitem", "data-frame": m.frame });
  const mark = m.answered === false ? `${embedded.no_answer}. ` : "";
  const label = `${clock(capture, m.at)} packet ${m.frame}: ${m.message} from ${m.src} to ${m.dst}. ${mark}${said(m)} ${worded(m)}`;
  const inner = draw("g", { role: m.icmp ? undefined : "button", tabindex: nth === cursor ? 0 : -1, "aria-label": label, class: "target",
    onclick: () => openMessage(m), onfocus: () => { cursor = nth; } });
  inner.append(draw("title", {}, label), draw("rect", { class: "hit", x: 0, width, y: y - 17, height: 22 }));
  if (from === to) inner.append(draw("path", { class: "line", d: `M${from} ${y - 6}h34v10h-34`, "marker-end": "url(#head)" }));
  else inner.append(draw("line", { class: "line", x1: from, x2: to - way, y1: y, y2: y, "marker-end": "url(#head)" }));
  if (m.lost) inner.append(draw("path", { class: "cross", d: `M${to - way * 16 - 4} ${y - 4}l8 8m0 -8l-8 8` }));
  group.append(inner);
  // The label says all that these texts say.
  if (hasRoom) {
    group.append(draw("g", { class: "words", "aria-hidden": true }, draw("text", { class: "time", x: 6, y: y + 4 }, clock(capture, m.at, 6)),
      draw("text", { class: "frame", x: 176, y: y + 4 }, since(nth)),
      draw("text", { class: "frame", x: BEFORE - 14, y: y + 4 }, m.frame),
      draw("text", { class: "message", x: from === to ? from + 40 : (from + to) / 2, y: y - 5 }, m.message + (m.packets > 1 ? ` (${m.packets} packets)` : "")),
      isTight && state.spacing === "time" ? "" : draw("text", { class: "said" + end, x: words, y: line(0) }, silent("tspan", m), shortened(beside(m, at), 74))));
  }
  findingsOf(m).forEach((finding, nth) => {
    const open = isOpen(finding);
    if (state.spacing === "time") {
      group.append(draw("circle", { class: "dot " + (open ? "open" : finding.severity), cx: isTight ? to - way * 16 : right + 6, cy: y, r: 4 }, draw("title", {}, finding.message)));
    } else {
      const more = nth === 3 && m.findings.length > 4 ? ` and ${m.findings.length - 4} more` : "";
      group.append(draw("text", { class: "remark " + (open ? "open" : finding.severity) + end, x: words, y: line(nth + 1) },
        shortened(remark(finding), 74) + more));
    }
  });
  return group;
}

// The mark of a request without an answer, before what is said about it.
const silent = (tag, m) => m.answered === false && [(tag === "tspan" ? draw : make)(tag, { class: "silent" }, embedded.no_answer), " "];

const hasWords = (m, at) => m.answered === false || beside(m, at) !== "";

// The text of a message next to its arrow.
function said(m) {
  const parts = [m.response_time !== undefined && "+" + span(m.response_time), m.summary, m.copy_of && `copy of packet ${m.copy_of}`,
    m.lost && "not whole in the capture"];
  return parts.filter(Boolean).join(", ");
}

function beside(m, at) {
  const others = [at.isOther(m.from) && "from " + m.src, at.isOther(m.to) && "to " + m.dst].filter(Boolean).join(" ");
  return [others, said(m)].filter(Boolean).join(": ");
}

const worded = (m) => m.findings.map((f) => `${isOpen(f) ? "Inconclusive: " : ""}${f.severity} ${f.rule}: ${f.message}.`).join(" ");

// Moves the focus to the next arrow.
function walk(event) {
  const steps = { ArrowDown: 1, ArrowUp: -1, Home: -onPage.length, End: onPage.length };
  if (event.key === "Enter" || event.key === " ") openMessage(onPage[cursor]);
  else if (event.key in steps) {
    const next = Math.min(Math.max(cursor + steps[event.key], 0), onPage.length - 1);
    focusArrow(next);
  } else return;
  event.preventDefault();
}

function focusArrow(nth) {
  const arrows = by("ladder").querySelectorAll(".target");
  arrows[cursor]?.setAttribute("tabindex", -1);
  cursor = nth;
  arrows[cursor]?.setAttribute("tabindex", 0);
  arrows[cursor]?.focus();
}
