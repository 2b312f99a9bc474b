// Filters next to the page: each lists the values in messages that match the other filters.

const FACETS = [
  ["protocol", "Protocol"],
  ["answered", "Requests"],
  ["message", "Message"],
  ["rule", "Rule"],
  ["party", "Party"],
];

const ANSWERED = { yes: "answered", challenged: "answered by a challenge", no: "not answered" };

// Maximum number of listed values of a filter; others are found by search.
const LISTED = 8;

// The search texts for values of each filter.
const typed = {};

function showFacets(capture, messages) {
  const names = Object.fromEntries(capture.check.rules.map((rule) => [rule.code, rule.slug]));
  const focused = document.activeElement?.id;
  put("facets", chips(), FACETS.map(([facet, title]) => showFacet(capture, facet, title, names, messages)));
  if (focused) by(focused)?.focus();
}

function showFacet(capture, facet, title, names, messages) {
  const counts = countsOf(facet, state[facet].length ? chosen(capture, facet) : messages);
  const known = isNarrowed(facet) ? undefined : totals(capture, facet);
  for (const value of counts.keys()) if (known?.has(value)) counts.set(value, known.get(value));
  // Names are long and the room is little: the same signs as in tables.
  const some = facet !== "rule" ? capture.isSampled && "\u2248 " : isNarrowed(facet) && capture.isPartial && "\u2265 ";
  for (const value of state[facet]) if (!counts.has(value)) counts.set(value, 0);
  if (!counts.size) return undefined;
  const words = (typed[facet] || "").toLowerCase();
  const isFound = (value) => !words || (value + " " + (names[value] || "")).toLowerCase().includes(words);
  const { top, found } = most(counts, LISTED, isFound);
  const others = state[facet].filter((value) => isFound(value) && !top.some((it) => it[0] === value));
  const listed = [...top, ...others.map((value) => [value, counts.get(value)]).sort(before)];
  const id = "facet-" + facet;
  return make("fieldset", { class: "facet" }, make("legend", {}, title),
    counts.size > LISTED && make("input", {
      type: "search", id, value: typed[facet] || "", "aria-label": "Find: " + title, placeholder: "find one of " + grouped(counts.size),
      oninput: (event) => { typed[facet] = event.target.value; refresh(id, capture); },
    }),
    listed.map(([value, count], at) => make("label", { class: "value" },
      make("input", { type: "checkbox", id: id + "-" + at, "data-value": value, checked: state[facet].includes(value),
        onchange: () => toggle(facet, value) }),
      make("span", { class: "name", title: value }, facetName(facet, value, names)),
      make("span", { class: "number" }, (count && !known?.has(value) && some) || "", grouped(count)))),
    found > listed.length && make("p", { class: "more" }, grouped(found - listed.length) + " more"));
}

// Numbers of all messages, where a page with some of them knows these, and of all findings of each rule.
function totals(capture, facet) {
  const { protocols } = capture.summary;
  if (facet === "rule") {
    const all = new Map();
    for (const [kind, { sure, open }] of capture.kinds) {
      const rule = kind.split(" ")[0];
      all.set(rule, (all.get(rule) || 0) + sure + open);
    }
    return all;
  }
  if (!capture.isSampled) return undefined;
  if (facet === "protocol") return new Map(protocols.map((row) => [row.protocol, row.messages]));
  if (facet !== "answered") return undefined;
  const sum = (name) => protocols.reduce((all, row) => all + row[name], 0);
  return new Map([["yes", sum("answered")], ["no", sum("exchanges") - sum("answered")]]);
}

// How many messages have each value; of a rule, how many findings.
function countsOf(facet, messages) {
  const counts = new Map();
  for (const m of messages) {
    const values = facetValues(facet, m);
    for (let nth = 0; nth < values.length; nth += 1) {
      if (nth && facet !== "rule" && values.indexOf(values[nth]) < nth) continue;
      counts.set(values[nth], (counts.get(values[nth]) || 0) + (facet === "rule" ? 1 : m.weight));
    }
  }
  return counts;
}

const before = (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1);

// The first values by their counts, without sorting all of them, and how many were found.
function most(counts, most, isFound) {
  const top = [];
  let found = 0;
  for (const [value, count] of counts) {
    if (!isFound(value)) continue;
    found += 1;
    if (top.length === most && before([value, count], top[most - 1]) > 0) continue;
    if (top.length === most) top.pop();
    top.splice(top.findIndex((it) => before([value, count], it) < 0) >>> 0, 0, [value, count]);
  }
  return { top, found };
}

// Parties are found by host and by socket: the list has servers by socket, others by host.
function facetValues(facet, m) {
  if (facet === "answered") return answer(m) ? [answer(m)] : [];
  if (facet !== "party") return m.icmp && facet === "protocol" ? [] : VALUES[facet](m);
  if (m.icmp) return m.hosts;
  return m.speaker === "client" ? [m.hosts[0], m.dst] : [m.src, m.hosts[1]];
}

function facetName(facet, value, names) {
  if (facet === "answered") return ANSWERED[value];
  return facet === "rule" ? value + " " + (names[value] || "") : value;
}

function refresh(id, capture) {
  const at = by(id).selectionStart;
  showFacets(capture, chosen(capture));
  by(id)?.setSelectionRange(at, at);
}

// The active filters, each with a button to remove it.
function chips() {
  const chip = (text, undo) => button([text, make("span", { "aria-hidden": true }, " \u2715")], undo,
    { class: "chip", "aria-label": "Remove: " + text });
  const all = [];
  if (state.flow.length) state.flow.forEach((flow) => all.push(chip("conversation " + flow, () => toggle("flow", flow))));
  if (state.from !== undefined || state.to !== undefined) {
    all.push(chip("span of time", () => change({ from: undefined, to: undefined })));
  }
  const clear = () => change({ q: "", from: undefined, to: undefined, ...Object.fromEntries(SETS.map((set) => [set, []])) });
  if (isNarrowed()) all.push(button("Show everything", clear, { class: "clear", id: "clear" }));
  return all.length ? make("div", { class: "chips" }, all) : undefined;
}
