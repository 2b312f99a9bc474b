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
  const counts = new Map();
  for (const m of state[facet].length ? chosen(capture, facet) : messages) {
    const values = facetValues(facet, m);
    values.forEach((value, nth) => values.indexOf(value) === nth && counts.set(value, (counts.get(value) || 0) + m.weight));
  }
  for (const value of state[facet]) if (!counts.has(value)) counts.set(value, 0);
  const all = [...counts];
  const isFound = ([value]) => (value + " " + (names[value] || "")).toLowerCase().includes((typed[facet] || "").toLowerCase());
  const found = all.filter(isFound);
  const top = most(found, LISTED);
  const listed = [...top, ...most(found.filter(([value]) => state[facet].includes(value) && !top.some((it) => it[0] === value)), Infinity)];
  if (!all.length) return undefined;
  const id = "facet-" + facet;
  return make("fieldset", { class: "facet" }, make("legend", {}, title),
    all.length > LISTED && make("input", {
      type: "search", id, value: typed[facet] || "", "aria-label": "Find: " + title, placeholder: "find one of " + grouped(all.length),
      oninput: (event) => { typed[facet] = event.target.value; refresh(id, capture); },
    }),
    listed.map(([value, count], at) => make("label", { class: "value" },
      make("input", { type: "checkbox", id: id + "-" + at, "data-value": value, checked: state[facet].includes(value),
        onchange: () => toggle(facet, value) }),
      make("span", { class: "name", title: value }, facetName(facet, value, names)),
      make("span", { class: "number" }, grouped(count)))),
    found.length > listed.length && make("p", { class: "more" }, grouped(found.length - listed.length) + " more"));
}

// The first of some values by their counts, without sorting all of them.
function most(values, count) {
  const before = (a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1);
  const least = values.length > 500 ? values.map((it) => it[1]).sort((a, b) => b - a)[count - 1] ?? 0 : 0;
  return values.filter((it) => it[1] >= least).sort(before).slice(0, count);
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
