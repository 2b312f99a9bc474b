// The selected messages as a ladder diagram: a column for each host, time from top to bottom.

const ARROWS = 100, COLUMNS_AT_MOST = 8, ROW = 34, LINE = 17, HEAD = 46, BEFORE = 150, BESIDE = 520;

// The messages of the page, and the index of the focused one.
let onPage = [], cursor = 0;

function showLadder(capture, messages) {
  const pages = Math.max(Math.ceil(messages.length / ARROWS), 1);
  const page = Math.min(state.page, pages - 1);
  onPage = messages.slice(page * ARROWS, (page + 1) * ARROWS);
  cursor = Math.min(cursor, Math.max(onPage.length - 1, 0));
  put("pages", make("span", { class: "where" }, counted(messages.reduce((sum, m) => sum + m.weight, 0), "message")),
    pager(page, pages, "page", (to) => { cursor = 0; change({ page: to }); }));
  for (const input of document.getElementsByName("spacing")) input.checked = input.value === state.spacing;
  if (!onPage.length) return put("ladder", make("p", {}, "No message is chosen."));
  put("ladder", ladder(capture));
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
function places(at, isNarrow) {
  const tops = [], pauses = [];
  const gaps = onPage.slice(1).map((m, nth) => Math.max(m.at - onPage[nth].at, 0));
  const some = gaps.filter((gap) => gap > 0).sort((a, b) => a - b);
  const middle = some[Math.floor(some.length / 2)] || 1;
  let y = HEAD + 30;
  onPage.forEach((m, nth) => {
    if (nth && state.spacing === "time") {
      const gap = gaps[nth - 1];
      const isPause = gap > 12 * middle;
      if (isPause) pauses.push([y + 25, gap]);
      y += isPause ? 50 : (gap / middle) * 22;
    }
    tops.push(y);
    if (state.spacing === "even") y += ROW + (findingsOf(m).length + (isNarrow && beside(m, at) ? 1 : 0)) * LINE;
  });
  return { tops, pauses, end: y + ROW };
}

const findingsOf = (m) => m.findings.slice(0, 4);

function ladder(capture) {
  const at = columns(capture);
  const gaps = Math.max(at.names.length - 1, 1), room = widthOf("ladder") - BEFORE;
  // If there is no room for texts next to the columns, they are below the arrows.
  const isNarrow = (room - BESIDE) / gaps < 140;
  const gap = Math.max(Math.min((isNarrow ? room - 70 : room - BESIDE) / gaps, 260), 125);
  const right = BEFORE + (at.names.length - 1) * gap;
  const x = (column) => BEFORE + column * gap + (at.names.length === 1 ? 60 : 0);
  const { tops, pauses, end } = places(at, isNarrow);
  const width = isNarrow ? Math.max(right + 70, BEFORE + BESIDE) : right + BESIDE, height = end + 10;
  const svg = draw("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "list", "aria-label": counted(onPage.length, "message") + " as a ladder" });
  svg.append(draw("defs", {}, draw("marker", { id: "head", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 8, markerHeight: 8, orient: "auto" },
    draw("path", { class: "head", d: "M0 0L8 4L0 8z" }))));
  at.names.forEach((host, nth) => svg.append(
    draw("text", { class: "name", x: x(nth), y: nth % 2 && gap < 190 ? 34 : 18 }, shortened(host, 30)),
    draw("line", { class: "lane", x1: x(nth), x2: x(nth), y1: HEAD - 6, y2: height })));
  for (const [y, gap] of pauses) {
    svg.append(draw("path", { class: "pause", d: `M${BEFORE - 6} ${y}l${right - BEFORE + 12} 0` }),
      draw("text", { class: "time", x: 6, y: y + 4 }, span(gap) + " pause"));
  }
  let below = 0;
  onPage.forEach((m, nth) => {
    // To scale, arrows may be closer than lines of text: texts without room are in the arrow's title.
    const hasRoom = tops[nth] - below >= 15;
    if (hasRoom) below = tops[nth];
    svg.append(arrow(capture, m, nth, { at, x, y: tops[nth], right, width, isNarrow, hasRoom }));
  });
  svg.addEventListener("keydown", walk);
  return svg;
}

function arrow(capture, m, nth, { at, x, y, right, width, isNarrow, hasRoom }) {
  const [from, to] = [x(at.of(m.from)), x(at.of(m.to))];
  // Below an arrow far to the right, texts end at its end.
  const isFar = isNarrow && Math.min(from, to) + 8 > width - BESIDE;
  const words = isFar ? Math.max(from, to) - 8 : isNarrow ? Math.min(from, to) + 8 : right + 14;
  const end = isFar ? " end" : "";
  // Lines of text, next to the arrow or below it.
  const line = (nth) => y + 4 + (nth + (isNarrow ? 1 : 0) - (isNarrow && !beside(m, at) ? 1 : 0)) * LINE;
  const isLost = m.lost || m.icmp;
  const way = to > from ? 1 : -1;
  const group = draw("g", { class: ["step", isLost && "lost", m.icmp && "icmp"].filter(Boolean).join(" "), role: "listitem", "data-frame": m.frame });
  const label = `${clock(capture, m.at)} packet ${m.frame}: ${m.message} from ${m.src} to ${m.dst}. ${said(m)} ${worded(m)}`;
  const inner = draw("g", { role: m.icmp ? undefined : "button", tabindex: nth === cursor ? 0 : -1, "aria-label": label, class: "target",
    onclick: () => openMessage(m), onfocus: () => { cursor = nth; } });
  inner.append(draw("title", {}, label), draw("rect", { class: "hit", x: 0, width, y: y - 17, height: 22 }));
  if (from === to) inner.append(draw("path", { class: "line", d: `M${from} ${y - 6}h34v10h-34`, "marker-end": "url(#head)" }));
  else inner.append(draw("line", { class: "line", x1: from, x2: to - way, y1: y, y2: y, "marker-end": "url(#head)" }));
  if (m.lost) inner.append(draw("path", { class: "cross", d: `M${to - way * 16 - 4} ${y - 4}l8 8m0 -8l-8 8` }));
  if (hasRoom) {
    inner.append(draw("text", { class: "time", x: 6, y: y + 4 }, clock(capture, m.at, 6)),
      draw("text", { class: "frame", x: 136, y: y + 4 }, m.frame),
      draw("text", { class: "message", x: from === to ? from + 40 : (from + to) / 2, y: y - 5 }, m.message + (m.packets > 1 ? ` (${m.packets} packets)` : "")),
      isNarrow && state.spacing === "time" ? "" : draw("text", { class: "said" + end, x: words, y: line(0) }, shortened(beside(m, at), 74)));
  }
  group.append(inner);
  findingsOf(m).forEach((finding, nth) => {
    const open = finding.verdict === "inconclusive";
    if (state.spacing === "time") {
      group.append(draw("circle", { class: "dot " + (open ? "open" : finding.severity), cx: isNarrow ? to - way * 16 : right + 6, cy: y, r: 4 }, draw("title", {}, finding.message)));
    } else {
      const more = nth === 3 && m.findings.length > 4 ? ` and ${m.findings.length - 4} more` : "";
      group.append(draw("text", { class: "remark " + (open ? "open" : finding.severity) + end, x: words, y: line(nth + 1) },
        shortened(`${open ? "?" : "!"} ${finding.severity} ${finding.rule}: ${finding.message}`, 74) + more));
    }
  });
  return group;
}

// The text of a message next to its arrow.
function said(m) {
  const parts = [m.response_time !== undefined && "+" + span(m.response_time), m.summary, m.copy_of && `copy of packet ${m.copy_of}`,
    m.lost && "not whole in the capture", m.answered === false && "no response"];
  return parts.filter(Boolean).join(", ");
}

function beside(m, at) {
  const others = [at.isOther(m.from) && "from " + m.src, at.isOther(m.to) && "to " + m.dst].filter(Boolean).join(" ");
  return [others, said(m)].filter(Boolean).join(": ");
}

const worded = (m) => m.findings.map((f) => `${f.verdict === "inconclusive" ? "Inconclusive: " : ""}${f.severity} ${f.rule}: ${f.message}.`).join(" ");

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
