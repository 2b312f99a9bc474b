// Tables of servers, masters, clients and conversations, with sorting and search.

const ROWS = 25;

// Characters of a name; the whole of a longer one is shown on hover.
const NAME = 22;

const percent = (some, all) => (all ? Math.floor((1000 * some) / all) / 10 : undefined);

// The format of values of each kind; others are texts.
const FORMATS = {
  count: grouped, number: String, bytes: (value) => grouped(value) + " B", span, rate: (value) => value.toFixed(1) + "/s",
  share: (value) => value.toFixed(1) + " %",
};

// A row whose numbers are computed when they are first needed: of many rows, only some are in sight.
function full(row) {
  if (row.late) Object.assign(row, row.late(), { late: undefined });
  return row;
}

// A row's value in a column: a share, where the column is one.
const valueOf = (row, { name, of }) => (of ? percent(full(row)[name], row[of]) : full(row)[name]) ?? undefined;

// The search text of each table, and its page.
const finding = {}, pageOf = {};

// The exchanges in some messages, counted as in the summary: requests with their challenges as one.
function fared(asks, responds) {
  const asked = asks.filter((m) => m.answered !== undefined);
  const times = responds.filter((m) => m.response_time !== undefined && m.copy_of === undefined)
    .map((m) => [m.response_time, m.weight]).sort((a, b) => a[0] - b[0]);
  const [exchanges, answered] = [sumOf(asked), sumOf(asked.filter((m) => m.answered))];
  return {
    exchanges, requests: exchanges, answered,
    response_time_p50: percentile(times, 50), response_time_p95: percentile(times, 95),
    response_time_max: times.length ? times[times.length - 1][0] : undefined,
  };
}

// Some findings: errors and warnings together, and notes apart.
function tally(found) {
  const count = (severity) => found.filter((f) => f.severity === severity && !isOpen(f)).length;
  const [errors, warnings, notes] = ["error", "warning", "note"].map(count);
  return { findings: errors + warnings, errors, notes };
}

const playersOf = (row) => (row.players === null && row.max_players === null ? undefined : `${row.players ?? "?"}/${row.max_players ?? "?"}`);
const kindsOf = (kinds) => Object.entries(kinds).map(([name, count]) => `${name} ${grouped(count)}`).join(", ");

// The rows of the summary as they are shown.
function wholeRows(table, key, capture) {
  const whole = (row) => {
    const shown = { ...row, largest: row.largest || undefined, players: playersOf(row), kinds: row.kinds && kindsOf(row.kinds), libraries: row.libraries?.join(", ") };
    const [errors, warnings, notes] = capture.parties[row[key]] || [0, 0, 0];
    return "findings" in row ? Object.assign(shown, { findings: errors + warnings, errors, notes }) : shown;
  };
  capture.whole ??= {};
  return (capture.whole[table] ??= capture.summary[table].map(whole));
}

// The rows of the summary for the messages: with the numbers of the summary, or with filters those of the messages.
function rowsOf(table, key, capture, messages) {
  const rows = wholeRows(table, key, capture);
  if (!isNarrowed()) return rows;
  const { to, from, about } = byEnd(capture, messages);
  return rows.flatMap((row) => {
    const [got, sent, found] = [to, from, about].map((of) => of.get(row[key]) || []);
    if (!got.length && !sent.length) return [];
    const late = () => Object.fromEntries(Object.entries(narrowed(table, got, sent, found)).filter(([name]) => name in row));
    return [{ __proto__: row, late }];
  });
}

// The messages to each end, those from it, and the findings about it; computed once for each choice.
function byEnd(capture, messages) {
  if (byEnd.messages === messages) return byEnd.found;
  const [to, from, about] = [new Map(), new Map(), new Map()];
  for (const m of messages) {
    collect(from, m.src, m);
    collect(to, m.dst, m);
    if (m.hosts[0] !== m.src) collect(from, m.hosts[0], m);
    if (m.hosts[1] !== m.dst) collect(to, m.hosts[1], m);
  }
  for (const f of chosenFindings(capture, messages)) {
    if (f.party !== null) for (const end of new Set([f.party, host(f.party)])) collect(about, end, f);
  }
  byEnd.messages = messages;
  return (byEnd.found = { to, from, about });
}

// The numbers of a row for chosen messages, which mean what they mean in the summary: requests to a server are not those that
// it sends to its master.
function narrowed(table, got, sent, found) {
  const [asks, responds] = table === "clients" ? [sent, got] : [got, sent];
  const kinds = {};
  for (const m of sent) if (m.speaker === "client") kinds[m.path] = (kinds[m.path] || 0) + m.weight;
  const responses = sent.filter((m) => m.speaker === "server" && m.request !== undefined);
  return {
    ...fared(asks, responds), ...tally(found), sent: Object.values(kinds).reduce((a, b) => a + b, 0), kinds: kindsOf(kinds),
    rate: undefined, sockets: new Set(sent.map((m) => m.src)).size, largest: Math.max(0, ...responses.map((m) => m.length)) || undefined,
  };
}

function flowRows(messages) {
  const flows = new Map();
  for (const m of messages) if (!m.icmp) collect(flows, m.flow, m);
  return [...flows].map(([flow, own]) => {
    const asks = own.find((m) => m.speaker === "client") || own[0];
    const ends = asks.speaker === "client" || asks.speaker === "server" ? [asks.src, asks.dst] : [asks.dst, asks.src];
    const late = () => ({ duration: own[own.length - 1].at - own[0].at, messages: sumOf(own),
      ...fared(own, own), ...tally(own.flatMap((m) => m.findings.filter((f) => f.flow === flow))) });
    return { flow, client: ends[0], server: ends[1], protocol: own[0].protocol, late };
  });
}

// A table of parties, named by this column.
const parties_in = (table, key) => (capture, messages) =>
  showTable(table, rowsOf(table, key, capture, messages), capture, [key, "party"]);

const showServers = parties_in("servers", "server"), showMasters = parties_in("masters", "master"), showClients = parties_in("clients", "client");
const showFlows = (capture, messages) => showTable("flows", flowRows(messages), capture, ["flow", "flow"]);

function sorted(table, rows) {
  const chosen = state.sort[table];
  const column = embedded.columns[table].find(({ name }) => name === chosen?.replace(/^-/, ""));
  if (!column) return rows;
  const sign = chosen.startsWith("-") ? -1 : 1;
  const rank = (row) => valueOf(row, column);
  const compare = (a, b) => {
    const [one, other] = [rank(a), rank(b)];
    // Unknown values are last in both directions.
    if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other), "en", { numeric: true });
  };
  return [...rows].sort(compare);
}

// Numbers are sorted in descending order first, texts in ascending order.
function sort(table, column, isNumber) {
  const now = state.sort[table];
  const next = isNumber ? ["-" + column, column] : [column, "-" + column];
  const then = now === next[0] ? next[1] : now === next[1] ? undefined : next[0];
  const all = { ...state.sort, [table]: then };
  if (!then) delete all[table];
  change({ sort: all });
  by(`sort-${table}-${column}`)?.focus();
}

// The columns of a table that say something about any row of the capture: a choice does not change them.
function columnsOf(table, rows, capture, key) {
  const isKnown = (value, { rare }) => value !== undefined && value !== "" && !(rare && value === 0);
  const known = (all) => embedded.columns[table].filter((column) => all.some((row) => isKnown(valueOf(row, column), column)));
  capture.columns ??= {};
  return (capture.columns[table] ??= known(table === "flows" ? rows : wholeRows(table, key, capture)));
}

function showTable(table, rows, capture, [key, set]) {
  by(table + "-section").hidden = !rows.length;
  if (!rows.length) return put(table);
  const columns = columnsOf(table, rows, capture, key);
  const words = (finding[table] || "").toLowerCase().split(/\s+/).filter(Boolean);
  const text = (row) => columns.map((column) => valueOf(row, column) ?? "").join("\n").toLowerCase();
  const found = sorted(table, words.length ? rows.filter((row) => words.every((word) => text(row).includes(word))) : rows);
  const pages = Math.max(Math.ceil(found.length / ROWS), 1);
  const page = (pageOf[table] = Math.min(pageOf[table] || 0, pages - 1));
  const id = "find-" + table, again = () => showTable(table, rows, capture, [key, set]);
  const search = rows.length > 5 && make("input", {
    type: "search", id, placeholder: "find in " + grouped(rows.length), "aria-label": "Find in this table", value: finding[table] || "",
    oninput: (event) => {
      [finding[table], pageOf[table]] = [event.target.value, 0];
      const at = event.target.selectionStart;
      again();
      by(id).focus();
      by(id).setSelectionRange(at, at);
    },
  });
  const heading = ({ name, heading, kind, meaning }) => {
    const now = state.sort[table], isNumber = kind in FORMATS;
    const order = now === name ? "ascending" : now === "-" + name ? "descending" : undefined;
    return make("th", { scope: "col", "aria-sort": order, class: isNumber ? "number" : undefined, title: meaning },
      button([heading, make("span", { class: "arrow", "aria-hidden": true }, order === "ascending" ? " \u25B2" : order ? " \u25BC" : "")],
        () => sort(table, name, isNumber), { id: `sort-${table}-${name}` }));
  };
  const cell = (row, column) => {
    const { name, kind, of } = column, value = valueOf(row, column), write = FORMATS[kind];
    if (name === key) {
      const chosen = state[set].includes(String(value));
      return make("th", { scope: "row", class: write ? "number" : undefined }, button(String(value), () => toggle(set, String(value)),
        { "aria-pressed": String(chosen), title: chosen ? "Show others, too" : "Show only this" }));
    }
    if (value === undefined || value === "") return make("td", { class: write ? "number" : undefined }, "\u2013");
    const isFound = name === "findings" && value > 0;
    const tone = (isFound && row.errors) || (of && value < 100) ? "bad" : isFound && "warn";
    const classes = [write && "number", tone].filter(Boolean).join(" ");
    const least = (name === "findings" || name === "notes") && value > 0 && capture.isPartial && (isNarrowed() || table === "flows") ? "\u2265 " : "";
    const isEstimated = kind === "count" && !least && value > 0 && capture.isSampled && (isNarrowed() || table === "flows");
    const text = write ? least + (isEstimated ? "\u2248 " : "") + write(value) : shortened(value, kind === "text" && name !== "kinds" ? NAME : 60);
    const isCut = !write && text !== visible(value);
    return make("td", { class: classes || undefined, title: isCut ? String(value) : undefined }, write ? text : wire(text));
  };
  put(table, search || "",
    make("div", { class: "scroll", tabindex: 0, role: "group", "aria-labelledby": table + "-title" }, make("table", {},
      make("thead", {}, make("tr", {}, columns.map(heading))),
      make("tbody", {}, found.slice(page * ROWS, (page + 1) * ROWS).map((row) => make("tr", {}, columns.map((column) => cell(row, column))))))),
    capture.more[table] && make("p", { class: "note" }, `${grouped(capture.more[table])} more are not in this page; gamewire summary lists them.`),
    capture.summary.cut.includes(table) && make("p", { class: "note" }, "There were more: these are those that there was memory for."),
    pages > 1 && make("nav", { class: "pages", "aria-label": "Pages of " + by(table + "-title").textContent },
      pager(page, pages, "page", (to) => { pageOf[table] = to; again(); })));
}
