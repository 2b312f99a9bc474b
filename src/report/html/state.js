// The state of the page, which is stored in the address, so that links reproduce it.

const captures = embedded.captures;

// Filters that can have several values.
const SETS = ["protocol", "message", "party", "rule", "answered", "flow"];

// All filters, in the form of the address.
const state = { capture: 0, q: "", from: undefined, to: undefined, m: undefined, page: 0, spacing: "even", sort: {} };
for (const set of SETS) state[set] = [];

function read() {
  const chosen = new URLSearchParams(location.hash.slice(1));
  const number = (name) => (chosen.has(name) && isFinite(chosen.get(name)) ? Number(chosen.get(name)) : undefined);
  state.capture = Math.min(Math.max(Math.trunc(number("capture") ?? 0), 0), captures.length - 1);
  state.q = chosen.get("q") ?? "";
  state.from = number("from");
  state.to = number("to");
  state.m = number("m");
  state.page = Math.max(Math.trunc(number("page") ?? 0), 0);
  state.spacing = chosen.get("spacing") === "time" ? "time" : "even";
  for (const set of SETS) state[set] = chosen.getAll(set);
  state.sort = {};
  for (const sorted of chosen.getAll("sort")) {
    const [table, column] = sorted.split(":");
    if (column) state.sort[table] = column;
  }
}

function written() {
  const chosen = new URLSearchParams();
  if (state.capture) chosen.set("capture", state.capture);
  if (state.q) chosen.set("q", state.q);
  for (const set of SETS) state[set].forEach((value) => chosen.append(set, value));
  if (state.from !== undefined) chosen.set("from", state.from);
  if (state.to !== undefined) chosen.set("to", state.to);
  for (const [table, column] of Object.entries(state.sort)) chosen.append("sort", table + ":" + column);
  if (state.spacing !== "even") chosen.set("spacing", state.spacing);
  if (state.page) chosen.set("page", state.page);
  if (state.m !== undefined) chosen.set("m", state.m);
  return "#" + chosen;
}

// Applies a change and updates the page. Changes of filters start at the first page of messages.
function change(changes, { keep = false } = {}) {
  if (!["m", "page", "spacing", "sort"].some((name) => name in changes)) state.page = 0;
  Object.assign(state, changes);
  const hash = written();
  // `keep`: small steps, such as a typed character, do not add entries to the browser's history.
  if (keep) history.replaceState(null, "", hash);
  else if (hash !== (location.hash || "#")) history.pushState(null, "", hash);
  show();
}

// Adds a value to a filter, or removes it.
function toggle(set, value) {
  const has = state[set].includes(value);
  change({ [set]: has ? state[set].filter((other) => other !== value) : [...state[set], value] });
}

// Whether a request was answered; undefined if unknown, and for other messages.
const answer = (m) => (m.answered === false || m.answered === null ? "no" : m.answered ? "yes" : m.answered_by !== undefined ? "challenged" : "");

// The values of a message for each filter.
const VALUES = {
  protocol: (m) => [m.protocol],
  message: (m) => [m.path],
  party: (m) => [m.src, m.dst, ...m.hosts],
  rule: (m) => m.rules,
  answered: (m) => [answer(m)],
  flow: (m) => [String(m.flow)],
};

// Whether a filter is active, except for a named one.
const isNarrowed = (but) =>
  Boolean(state.q) || state.from !== undefined || state.to !== undefined || SETS.some((set) => set !== but && state[set].length);

// The messages that have all words of the search, in their texts or in the values of their fields; `undefined`: all.
function searched(capture) {
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean), q = words.join(" ");
  if (!q) return undefined;
  if (capture.searched?.q !== q) {
    // A longer word can only be in messages that had the shorter one.
    const before = capture.searched && q.startsWith(capture.searched.q) ? capture.searched.found : undefined;
    const has = (m) => words.every((word) => m.text.includes(word) || values(capture, m).includes(word));
    const among = before ? [...before] : capture.sample.messages;
    capture.searched = { q, found: new Set(among.filter(has)) };
  }
  return capture.searched.found;
}

// The messages that match all filters, except for a named one.
function chosen(capture, but) {
  const found = searched(capture);
  const sets = SETS.filter((set) => set !== but && state[set].length).map((set) => [VALUES[set], new Set(state[set])]);
  const [from, to] = but === "time" ? [undefined, undefined] : [state.from, state.to];
  return capture.sample.messages.filter(
    (m) =>
      (from === undefined || m.at >= from) &&
      (to === undefined || m.at <= to) &&
      sets.every(([values, set]) => values(m).some((value) => set.has(value))) &&
      (!found || found.has(m)),
  );
}

// Findings of the selected messages, and without filters also those without a message.
function chosenFindings(capture, messages) {
  if (!isNarrowed()) return capture.check.findings;
  const rules = new Set(state.rule);
  return messages.flatMap((m) => m.findings).filter((f) => !rules.size || rules.has(f.rule));
}
